// SPDX-License-Identifier: MIT
pragma solidity ^0.8.26;

interface IWarp {
    struct WarpMessage {
        bytes32 sourceChainID;
        address originSenderAddress;
        bytes payload;
    }

    function sendWarpMessage(bytes calldata payload) external returns (bytes32);
    function getVerifiedWarpMessage(uint32 index) external view returns (WarpMessage memory, bool);
    function getBlockchainID() external view returns (bytes32);
}

interface IToken {
    function transferFrom(address from, address to, uint256 value) external returns (bool);
    function transfer(address to, uint256 value) external returns (bool);
}

interface IReceiver {
    function receiveTeleporterMessage(bytes32 source, address sender, bytes calldata message) external;
}

struct Receipt {
    uint256 receivedMessageNonce;
    address relayerRewardAddress;
}

struct Message {
    uint256 messageNonce;
    address originSenderAddress;
    bytes32 destinationBlockchainID;
    address destinationAddress;
    uint256 requiredGasLimit;
    address[] allowedRelayerAddresses;
    Receipt[] receipts;
    bytes message;
}

struct Fee {
    address feeTokenAddress;
    uint256 amount;
}

struct Input {
    bytes32 destinationBlockchainID;
    address destinationAddress;
    Fee feeInfo;
    uint256 requiredGasLimit;
    address[] allowedRelayerAddresses;
    bytes message;
}

/// A messenger with the functions and events of TeleporterMessenger, written for tests:
/// it does what its interface says of messages, fees and receipts, and has no state
/// before its first call, so that a genesis can hold its code alone. It has one test
/// as its user, and no defence against others.
contract Messenger {
    IWarp private constant WARP = IWarp(0x0200000000000000000000000000000000000005);
    uint256 private constant MAX_RECEIPTS = 5;

    event SendCrossChainMessage(bytes32 indexed messageID, bytes32 indexed destinationBlockchainID, Message message, Fee feeInfo);
    event AddFeeAmount(bytes32 indexed messageID, Fee updatedFeeInfo);
    event ReceiptReceived(bytes32 indexed messageID, bytes32 indexed destinationBlockchainID, address indexed relayerRewardAddress, Fee feeInfo);
    event ReceiveCrossChainMessage(bytes32 indexed messageID, bytes32 indexed sourceBlockchainID, address indexed deliverer, address rewardRedeemer, Message message);
    event MessageExecuted(bytes32 indexed messageID, bytes32 indexed sourceBlockchainID);
    event MessageExecutionFailed(bytes32 indexed messageID, bytes32 indexed sourceBlockchainID, Message message);
    event RelayerRewardsRedeemed(address indexed redeemer, address indexed asset, uint256 amount);

    struct Sent {
        bytes32 hash;
        Fee fee;
    }

    uint256 public messageNonce;
    mapping(bytes32 => Sent) private sent;
    mapping(bytes32 => bytes32) private failed; // hashes of messages whose call may be tried again
    mapping(bytes32 => bool) public messageReceived;
    mapping(bytes32 => Receipt) private received; // by message, for receipts that are asked for
    mapping(bytes32 => Receipt[]) private queues; // of receipts by chain, told from next on
    mapping(bytes32 => uint256) private next;
    mapping(address => mapping(address => uint256)) private rewards;

    function sendCrossChainMessage(Input calldata m) external returns (bytes32) {
        Receipt[] storage queue = queues[m.destinationBlockchainID];
        uint256 first = next[m.destinationBlockchainID];
        uint256 n = queue.length - first;
        if (n > MAX_RECEIPTS) n = MAX_RECEIPTS;
        Receipt[] memory receipts = new Receipt[](n);
        for (uint256 i = 0; i < n; i++) receipts[i] = queue[first + i];
        next[m.destinationBlockchainID] = first + n;
        return
            send(
                m.destinationBlockchainID, m.destinationAddress, m.feeInfo, m.requiredGasLimit,
                m.allowedRelayerAddresses, receipts, m.message
            );
    }

    function sendSpecifiedReceipts(
        bytes32 sourceBlockchainID,
        bytes32[] calldata messageIDs,
        Fee calldata feeInfo,
        address[] calldata allowedRelayerAddresses
    ) external returns (bytes32) {
        Receipt[] memory receipts = new Receipt[](messageIDs.length);
        for (uint256 i = 0; i < messageIDs.length; i++) {
            require(messageReceived[messageIDs[i]], "not received");
            receipts[i] = received[messageIDs[i]];
        }
        return send(sourceBlockchainID, address(0), feeInfo, 0, allowedRelayerAddresses, receipts, "");
    }

    function send(
        bytes32 destination,
        address to,
        Fee memory fee,
        uint256 gasLimit,
        address[] memory relayers,
        Receipt[] memory receipts,
        bytes memory data
    ) private returns (bytes32 id) {
        Message memory m = Message(++messageNonce, msg.sender, destination, to, gasLimit, relayers, receipts, data);
        id = idOf(WARP.getBlockchainID(), destination, m.messageNonce);
        if (fee.amount > 0) {
            require(IToken(fee.feeTokenAddress).transferFrom(msg.sender, address(this), fee.amount), "fee");
        }
        bytes memory encoded = abi.encode(m);
        sent[id] = Sent(keccak256(encoded), fee);
        emit SendCrossChainMessage(id, destination, m, fee);
        WARP.sendWarpMessage(encoded);
    }

    function retrySendCrossChainMessage(Message calldata m) external {
        bytes32 id = idOf(WARP.getBlockchainID(), m.destinationBlockchainID, m.messageNonce);
        bytes memory encoded = abi.encode(m);
        require(sent[id].hash == keccak256(encoded), "not sent, or delivered");
        emit SendCrossChainMessage(id, m.destinationBlockchainID, m, sent[id].fee);
        WARP.sendWarpMessage(encoded);
    }

    function addFeeAmount(bytes32 id, address token, uint256 more) external {
        Sent storage s = sent[id];
        require(s.hash != 0 && s.fee.feeTokenAddress == token && more > 0, "fee");
        require(IToken(token).transferFrom(msg.sender, address(this), more), "fee");
        s.fee.amount += more;
        emit AddFeeAmount(id, s.fee);
    }

    function receiveCrossChainMessage(uint32 index, address rewardAddress) external {
        (IWarp.WarpMessage memory warp, bool valid) = WARP.getVerifiedWarpMessage(index);
        require(valid && warp.originSenderAddress == address(this), "no message of a messenger");
        Message memory m = abi.decode(warp.payload, (Message));
        require(m.destinationBlockchainID == WARP.getBlockchainID(), "for another chain");
        bytes32 id = idOf(warp.sourceChainID, m.destinationBlockchainID, m.messageNonce);
        require(!messageReceived[id], "received before");
        require(mayRelay(m.allowedRelayerAddresses), "not for this relayer");
        messageReceived[id] = true;
        received[id] = Receipt(m.messageNonce, rewardAddress);
        queues[warp.sourceChainID].push(received[id]);
        for (uint256 i = 0; i < m.receipts.length; i++) {
            settle(warp.sourceChainID, m.receipts[i]);
        }
        emit ReceiveCrossChainMessage(id, warp.sourceChainID, msg.sender, rewardAddress, m);
        if (m.message.length == 0) return;
        require(gasleft() >= m.requiredGasLimit, "too little gas");
        if (execute(warp.sourceChainID, m, m.requiredGasLimit)) {
            emit MessageExecuted(id, warp.sourceChainID);
        } else {
            failed[id] = keccak256(abi.encode(m));
            emit MessageExecutionFailed(id, warp.sourceChainID, m);
        }
    }

    function retryMessageExecution(bytes32 source, Message calldata m) external {
        bytes32 id = idOf(source, WARP.getBlockchainID(), m.messageNonce);
        require(failed[id] != 0 && failed[id] == keccak256(abi.encode(m)), "not failed");
        delete failed[id];
        require(execute(source, m, gasleft()), "failed again");
        emit MessageExecuted(id, source);
    }

    function redeemRelayerRewards(address token) external {
        uint256 amount = rewards[msg.sender][token];
        require(amount > 0, "nothing");
        delete rewards[msg.sender][token];
        emit RelayerRewardsRedeemed(msg.sender, token, amount);
        require(IToken(token).transfer(msg.sender, amount), "reward");
    }

    /// Pays for a delivery, the first time that it is told of.
    function settle(bytes32 destination, Receipt memory r) private {
        bytes32 id = idOf(WARP.getBlockchainID(), destination, r.receivedMessageNonce);
        Sent memory s = sent[id];
        if (s.hash == 0) return;
        delete sent[id];
        rewards[r.relayerRewardAddress][s.fee.feeTokenAddress] += s.fee.amount;
        emit ReceiptReceived(id, destination, r.relayerRewardAddress, s.fee);
    }

    function execute(bytes32 source, Message memory m, uint256 gasLimit) private returns (bool ok) {
        if (m.destinationAddress.code.length == 0) return false;
        bytes memory data = abi.encodeCall(IReceiver.receiveTeleporterMessage, (source, m.originSenderAddress, m.message));
        (ok, ) = m.destinationAddress.call{gas: gasLimit}(data);
    }

    function mayRelay(address[] memory relayers) private view returns (bool) {
        for (uint256 i = 0; i < relayers.length; i++) {
            if (relayers[i] == msg.sender) return true;
        }
        return relayers.length == 0;
    }

    function idOf(bytes32 source, bytes32 destination, uint256 nonce) private view returns (bytes32) {
        return keccak256(abi.encode(address(this), source, destination, nonce));
    }
}

/// Takes messages, or none while it is closed.
contract Inbox is IReceiver {
    bool public closed;
    bytes32 public last;

    function close(bool yes) external {
        closed = yes;
    }

    function receiveTeleporterMessage(bytes32 source, address sender, bytes calldata message) external {
        require(!closed, "closed");
        last = keccak256(abi.encode(last, source, sender, message));
    }
}
