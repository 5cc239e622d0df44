#include "protocol/wire/header.hpp"

namespace bowline::protocol::wire {

const char* name_of(Type type) {
    switch (type) {
        case Type::hello:
            return "hello";
        case Type::hello_ack:
            return "hello_ack";
        case Type::hello_done:
            return "hello_done";
        case Type::data:
            return "data";
        case Type::ack:
            return "ack";
        case Type::need_first:
            return "need_first";
        case Type::close:
            return "close";
        case Type::probe:
            return "probe";
        case Type::heartbeat:
            return "heartbeat";
        case Type::reset:
            return "reset";
    }
    return "unknown";
}

}  // namespace bowline::protocol::wire
