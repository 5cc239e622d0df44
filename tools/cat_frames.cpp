#include "tools/cat_frames.hpp"

#include <algorithm>
#include <cstring>
#include <string_view>

#include "tools/little_endian.hpp"

namespace bowline::tools {

namespace {

constexpr std::string_view kMagic = "bwlcat1";
constexpr std::size_t kControlHeader = 1 + kMagic.size() + 3 * sizeof(std::uint64_t);

}  // namespace

std::vector<std::byte> encode(const CatFrame& frame) {
    const std::size_t text_size = std::min(frame.text.size(), kCatTextMax);
    std::vector<std::byte> bytes(kControlHeader + text_size);
    bytes[0] = static_cast<std::byte>(frame.kind);
    std::memcpy(&bytes[1], kMagic.data(), kMagic.size());
    store_u64(&bytes[8], frame.id);
    store_u64(&bytes[16], frame.bytes);
    store_u64(&bytes[24], frame.messages);
    std::copy_n(std::as_bytes(std::span(frame.text)).begin(), text_size, bytes.begin() + kControlHeader);
    return bytes;
}

std::optional<CatFrame> decode_control(std::span<const std::byte> message) {
    if (message.size() < kControlHeader || std::memcmp(&message[1], kMagic.data(), kMagic.size()) != 0) {
        return std::nullopt;
    }
    CatFrame frame;
    frame.kind = static_cast<CatKind>(message[0]);
    frame.id = load_u64(&message[8]);
    frame.bytes = load_u64(&message[16]);
    frame.messages = load_u64(&message[24]);
    const std::span<const std::byte> text = message.subspan(kControlHeader);
    switch (frame.kind) {
        case CatKind::refuse:
            if (text.size() > kCatTextMax) {
                return std::nullopt;
            }
            for (const std::byte byte : text) {
                const auto letter = static_cast<char>(byte);
                // It goes to a terminal.
                frame.text += letter >= ' ' && letter <= '~' ? letter : '?';
            }
            return frame;
        case CatKind::begin:
        case CatKind::ready:
        case CatKind::end:
        case CatKind::confirm:
            return text.empty() ? std::optional(frame) : std::nullopt;
        case CatKind::data:
            break;
    }
    return std::nullopt;
}

std::optional<std::span<const std::byte>> decode_data(std::span<const std::byte> message) {
    if (message.empty() || message[0] != static_cast<std::byte>(CatKind::data)) {
        return std::nullopt;
    }
    return message.subspan(kCatDataHeader);
}

}  // namespace bowline::tools
