// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {ERC20} from "@openzeppelin/contracts/token/ERC20/ERC20.sol";
import {ERC20Burnable} from "@openzeppelin/contracts/token/ERC20/extensions/ERC20Burnable.sol";

/// An ERC-20 token that anybody may mint.
contract Coin is ERC20, ERC20Burnable {
    uint8 private immutable places;

    constructor(string memory name_, string memory symbol_, uint8 places_, uint256 supply) ERC20(name_, symbol_) {
        places = places_;
        _mint(msg.sender, supply);
    }

    function decimals() public view override returns (uint8) {
        return places;
    }

    function mint(address to, uint256 amount) external {
        _mint(to, amount);
    }

    /// Several transfers, so several logs, in one call.
    function spread(address[] calldata to, uint256 amount) external {
        for (uint256 i = 0; i < to.length; i++) {
            _transfer(msg.sender, to[i], amount);
        }
    }
}
