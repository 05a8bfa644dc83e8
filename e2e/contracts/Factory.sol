// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

interface IMint {
    function mint(address to, uint256 amount) external;
}

/// Holds coins, passes them on, and can be told to fail.
contract Box {
    constructor() payable {}

    receive() external payable {}

    /// Sends value along.
    function pass(address payable to) external payable {
        (bool ok, ) = to.call{value: msg.value}("");
        require(ok, "pass failed");
    }

    /// Fails, whatever it got.
    function fail() external payable {
        revert("always fails");
    }

    /// Mints and sends, then fails: nothing of it happened.
    function undo(address token, address payable to) external payable {
        IMint(token).mint(to, 5);
        (bool ok, ) = to.call{value: msg.value}("");
        require(ok, "undo failed");
        revert("undone");
    }

    function destroy(address payable to) external {
        selfdestruct(to);
    }
}

/// Makes a box while it is made itself.
contract Nest {
    Box public inner;

    constructor(bytes32 salt) payable {
        inner = new Box{value: msg.value / 2, salt: salt}();
    }
}

/// Fails in its constructor.
contract Stillborn {
    constructor() payable {
        revert("stillborn");
    }
}

/// Makes boxes by CREATE and CREATE2.
contract Factory {
    event Made(address box);

    receive() external payable {}

    /// A box by CREATE.
    function make() external payable {
        emit Made(address(new Box{value: msg.value}()));
    }

    /// A nest by CREATE2, and so a box in it.
    function make2(bytes32 salt) external payable {
        emit Made(address(new Nest{value: msg.value, salt: salt}(salt)));
    }

    /// Made and destroyed in one transaction, with its coins.
    function flash(address payable heir) external payable {
        Box box = new Box{value: msg.value}();
        box.destroy(heir);
    }

    /// Creations that fail, and calls that fail, survived by the caller;
    /// and a mint.
    function attempt(Box box, address token, address payable to) external payable {
        try new Stillborn{value: 1}() {} catch {}
        try new Stillborn{salt: bytes32(uint256(1))}() {} catch {}
        try box.fail{value: 1}() {} catch {}
        try box.undo{value: 2}(token, to) {} catch {}
        IMint(token).mint(to, 1);
        box.pass{value: msg.value - 3}(to);
    }

    /// Uses up all of its gas.
    function burnGas() external pure {
        assembly {
            invalid()
        }
    }
}
