#include "sim/content.hpp"

#include <algorithm>
#include <cstring>

#include "protocol/random.hpp"

namespace bowline::sim {

namespace {

protocol::Random stream_of(const ContentKey& key) {
    protocol::Random mix(key.incarnation);
    mix = protocol::Random(mix.next() ^ key.number);
    return protocol::Random(mix.next() ^ key.to);
}

}  // namespace

void fill_content(const ContentKey& key, std::span<std::byte> bytes) {
    protocol::Random stream = stream_of(key);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t word = stream.next();
        std::memcpy(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at));
    }
}

bool holds_content(const ContentKey& key, std::span<const std::byte> bytes) {
    protocol::Random stream = stream_of(key);
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(std::uint64_t)) {
        const std::uint64_t word = stream.next();
        if (std::memcmp(bytes.data() + at, &word, std::min(sizeof(word), bytes.size() - at)) != 0) {
            return false;
        }
    }
    return true;
}

}  // namespace bowline::sim
