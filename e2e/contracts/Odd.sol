// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

/// What the tokens below have in common. They are no ERC-20 tokens of the book:
/// their events are not what their balances follow from.
abstract contract Odd {
    event Transfer(address indexed from, address indexed to, uint256 value);

    string public name;
    string public symbol;
    mapping(address => uint256) internal held;

    function balanceOf(address a) public view virtual returns (uint256) {
        return held[a];
    }

    function totalSupply() external pure returns (uint256) {
        return 0;
    }

    function transfer(address to, uint256 value) external virtual returns (bool) {
        held[msg.sender] -= value;
        held[to] += value;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// A wrapped coin as WAVAX is: wrapping and unwrapping are no transfers.
contract Wrapped is Odd {
    event Deposit(address indexed dst, uint256 wad);
    event Withdrawal(address indexed src, uint256 wad);

    uint8 public constant decimals = 18;

    constructor() {
        (name, symbol) = ("Wrapped AVAX", "WAVAX");
    }

    receive() external payable {
        deposit();
    }

    function deposit() public payable {
        held[msg.sender] += msg.value;
        emit Deposit(msg.sender, msg.value);
    }

    function withdraw(uint256 wad) external {
        held[msg.sender] -= wad;
        payable(msg.sender).transfer(wad);
        emit Withdrawal(msg.sender, wad);
    }
}

/// Wraps coins and forwards them in one transaction, as every swap of the coin does.
contract Router {
    function wrap(Wrapped coin, address to) external payable {
        coin.deposit{value: msg.value}();
        coin.transfer(to, msg.value);
    }
}

/// Balances grow with each block, without an event.
contract Rebasing is Odd {
    uint8 public constant decimals = 9;
    uint256 private immutable begin = block.number;

    constructor() {
        (name, symbol) = ("Rebase", "RB");
        held[msg.sender] = 1e18;
        emit Transfer(address(0), msg.sender, 1e18);
    }

    function balanceOf(address a) public view override returns (uint256) {
        return held[a] * (1000 + block.number - begin) / 1000;
    }
}

/// A tenth of each transfer goes to the maker; the event has the whole.
contract Fee is Odd {
    uint8 public constant decimals = 6;
    address private immutable maker = msg.sender;

    constructor() {
        (name, symbol) = ("Fee", "FEE");
        held[msg.sender] = 1e18;
        emit Transfer(address(0), msg.sender, 1e18);
    }

    function transfer(address to, uint256 value) external override returns (bool) {
        held[msg.sender] -= value;
        held[to] += value - value / 10;
        held[maker] += value / 10;
        emit Transfer(msg.sender, to, value);
        return true;
    }
}

/// Makes events and nothing else. It has no decimals.
contract Claims is Odd {
    constructor() {
        (name, symbol) = ("Claim your prize", "CLAIM");
    }

    function transfer(address to, uint256 value) external override returns (bool) {
        emit Transfer(address(this), to, value);
        return true;
    }
}

/// Can be renamed, without an event.
contract Renamed is Odd {
    uint8 public decimals = 18;

    constructor() {
        (name, symbol) = ("Before", "OLD");
        held[msg.sender] = 1e18;
        emit Transfer(address(0), msg.sender, 1e18);
    }

    function rename(string calldata name_, string calldata symbol_, uint8 decimals_) external {
        (name, symbol, decimals) = (name_, symbol_, decimals_);
    }
}
