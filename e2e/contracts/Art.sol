// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

import {ERC721} from "@openzeppelin/contracts/token/ERC721/ERC721.sol";
import {ERC721Burnable} from "@openzeppelin/contracts/token/ERC721/extensions/ERC721Burnable.sol";

/// An ERC-721 token that anybody may mint.
contract Art is ERC721, ERC721Burnable {
    constructor() ERC721("Art", "ART") {}

    function mint(address to, uint256 id) external {
        _safeMint(to, id);
    }

    function _baseURI() internal pure override returns (string memory) {
        return "ipfs://art/";
    }
}
