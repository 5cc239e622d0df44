#include "engine/config_address.hpp"

#include "protocol/settings_text.hpp"

namespace bowline::engine {

std::optional<Ipv4Network> Ipv4Network::parse(std::string_view text) {
    const std::size_t slash = text.find('/');
    if (slash == std::string_view::npos) {
        return std::nullopt;
    }
    const std::optional<Ipv4Address> address = Ipv4Address::parse(text.substr(0, slash));
    const std::string_view prefix_text = text.substr(slash + 1);
    const std::optional<std::int64_t> prefix = protocol::parse_integer(prefix_text);
    if (!address || !prefix || *prefix < 1 || *prefix > 32 || prefix_text.front() == '0') {
        return std::nullopt;
    }
    return Ipv4Network{*address, 0xFFFFFFFFU << (32U - static_cast<std::uint32_t>(*prefix))};
}

}  // namespace bowline::engine
