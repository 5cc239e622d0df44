// One node of two: run `hello a` in one terminal and `hello b` in another.
#include <cstdio>
#include <string>

#include "bowline/bowline.hpp"

struct Printer {
    bool heard = false;
    void on_message(const bowline::Message& message) {
        heard = true;
        std::printf("message %d: %s\n", static_cast<int>(message.number()), std::string(message.text()).c_str());
    }
    void on_event(const bowline::Event& event) { std::printf("event: %s\n", bowline::to_string(event.kind)); }
};

int main(int argc, char** argv) {
    const bool is_a = argc > 1 && std::string(argv[1]) == "a";
    bowline::Config config;
    config.name = is_a ? "a" : "b";
    config.address = is_a ? "10.0.0.1/24" : "10.0.0.2/24";
    config.peers = {is_a ? bowline::PeerConfig{"b", "10.0.0.2", ""} : bowline::PeerConfig{"a", "10.0.0.1", ""}};
    config.device = argc > 2 ? argv[2] : "memif:/tmp/bowline-hello.sock";

    auto engine = bowline::Engine::start(config);
    if (!engine) {
        std::fprintf(stderr, "hello: %s\n", engine.error().message.c_str());
        return 1;
    }
    bowline::Peer peer = engine->peers().front();
    Printer printer;
    bool sent = false;
    while (!printer.heard || peer.status().acknowledged == 0) {
        engine->poll(printer);                                  // one turn of the engine
        sent = sent || peer.send("hello from " + config.name);  // refused until the peer is up: offered again
    }
    engine->stop(printer);
}
