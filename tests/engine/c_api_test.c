/* The C interface from a C program. An engine is one a process: two exchange messages as two child processes over
 * shared memory, and a third one, on a device that takes everything, is misused. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "bowline/bowline.h"

#define MESSAGES 1000
#define DEADLINE_S 30

#define CHECK(condition)                                                                            \
    do {                                                                                            \
        if (!(condition)) {                                                                         \
            fprintf(stderr, "%s:%d: expected %s; last error: %s\n", __FILE__, __LINE__, #condition, \
                    bowline_last_error());                                                          \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)
#define CHECK_OK(call) CHECK((call) == BOWLINE_OK)
/* The call is refused so, and says why in these words. */
#define CHECK_REFUSED(call, status, says)                    \
    do {                                                     \
        CHECK((call) == (status));                           \
        CHECK(strstr(bowline_last_error(), (says)) != NULL); \
    } while (0)

struct node {
    bowline_engine* engine;
    bowline_peer* peer;
    uint64_t heard;
    uint64_t views;
    uint64_t ups;
    bowline_message copy;
    bowline_held_message* held;
    int misused;
};

static time_t now_s(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return now.tv_sec;
}

static bowline_config* config_of(const char* name, const char* other, const char* device, const char* addresses[2]) {
    bowline_config* config = NULL;
    char peer[64];
    CHECK_OK(bowline_config_create(&config));
    snprintf(peer, sizeof peer, "%s=%s", other, addresses[1]);
    CHECK_OK(bowline_config_set(config, "name", name));
    CHECK_OK(bowline_config_set(config, "device", device));
    CHECK_OK(bowline_config_set(config, "address", addresses[0]));
    CHECK_OK(bowline_config_set(config, "peer", peer));
    CHECK_OK(bowline_config_set(config, "hugepages", "off"));
    CHECK_OK(bowline_config_set(config, "window", "64"));
    CHECK_OK(bowline_config_set(config, "message_max", "64KiB"));
    CHECK_OK(bowline_config_set(config, "held_max", "1"));
    CHECK_OK(bowline_config_set(config, "log_level", "error"));
    CHECK_OK(bowline_config_validate(config));
    return config;
}

/* ---- two that exchange messages ---- */

static void on_message(void* context, const bowline_message* message) {
    struct node* node = context;
    uint64_t number = 0;
    CHECK(message->size == sizeof *message);
    CHECK(message->peer == node->peer);
    CHECK(message->number == node->heard + 1);
    CHECK(message->length == sizeof number);
    memcpy(&number, message->data, sizeof number);
    CHECK(number == message->number);
    ++node->heard;
    if (number == 1) {
        bowline_held_message* second = NULL;
        CHECK_OK(bowline_message_hold(message, &node->held));
        CHECK_REFUSED(bowline_message_hold(message, &second), BOWLINE_LIMIT_REACHED, "held_max");
        CHECK(second == NULL);
    }
}

static void on_event(void* context, const bowline_event* event) {
    struct node* node = context;
    CHECK(event->size == sizeof *event);
    node->ups += event->kind == BOWLINE_EVENT_PEER_UP;
}

/* Sends the next number, in turns by copy and in place. */
static int send_next(struct node* node, uint64_t number) {
    uint64_t accepted = 0;
    bowline_status status = BOWLINE_OK;
    if (number % 2 == 0) {
        status = bowline_peer_send(node->peer, &number, sizeof number, &accepted);
    } else {
        void* room = NULL;
        status = bowline_peer_try_claim(node->peer, sizeof number, &room);
        if (status == BOWLINE_OK) {
            memcpy(room, &number, sizeof number);
            status = bowline_peer_commit(node->peer, &accepted);
        }
    }
    CHECK(status == BOWLINE_OK || status == BOWLINE_BACK_PRESSURED);
    CHECK(accepted == (status == BOWLINE_OK ? number : 0));
    return status == BOWLINE_OK;
}

static void exchange(const char* name, const char* other, const char* device, const char* addresses[2]) {
    struct node node = {0};
    const bowline_handler handler = {sizeof handler, &node, on_message, on_event};
    bowline_config* config = config_of(name, other, device, addresses);
    bowline_peer_status status = {.size = sizeof status};
    bowline_counters* counters = NULL;
    uint64_t number = 0;
    uint64_t sent = 0;
    const time_t deadline = now_s() + DEADLINE_S;

    CHECK_OK(bowline_engine_start(config, &node.engine));
    bowline_config_destroy(config);
    CHECK(bowline_engine_peer_count(node.engine) == 1);
    node.peer = bowline_engine_peer_at(node.engine, 0);
    CHECK(strcmp(bowline_peer_name(node.peer), other) == 0);
    while (node.heard < MESSAGES || status.acknowledged < MESSAGES) {
        CHECK(now_s() < deadline);
        while (sent < MESSAGES && send_next(&node, sent + 1)) {
            ++sent;
        }
        CHECK_OK(bowline_engine_poll(node.engine, &handler, 256, NULL));
        CHECK_OK(bowline_peer_get_status(node.peer, &status));
    }
    CHECK(node.ups == 1);
    CHECK(status.size == sizeof status && status.up == 1 && status.sent == MESSAGES && status.delivered == MESSAGES);

    /* What was held is still there, and stands in the way of the end. */
    CHECK(bowline_held_message_length(node.held) == sizeof number);
    memcpy(&number, bowline_held_message_data(node.held), sizeof number);
    CHECK(number == 1 && bowline_held_message_number(node.held) == 1 &&
          bowline_held_message_peer(node.held) == node.peer);
    CHECK_REFUSED(bowline_engine_stop(node.engine, &handler, 0), BOWLINE_WRONG_STATE, "1 messages are held");
    CHECK_REFUSED(bowline_engine_destroy(node.engine), BOWLINE_WRONG_STATE, "release");
    CHECK_OK(bowline_held_message_release(node.held));

    CHECK_OK(bowline_engine_counters(node.engine, &counters));
    for (size_t i = 0; i < bowline_counters_count(counters); ++i) {
        if (strcmp(bowline_counters_name(counters, i), "device_rx_packets") == 0) {
            number = bowline_counters_value(counters, i);
        }
    }
    CHECK(number > 1);
    CHECK(bowline_counters_name(counters, bowline_counters_count(counters)) == NULL);
    bowline_counters_free(counters);

    CHECK_OK(bowline_engine_stop(node.engine, &handler, 1000000000));
    CHECK_OK(bowline_engine_destroy(node.engine));
}

/* ---- one that is misused ---- */

static void misuse_on_message(void* context, const bowline_message* message) {
    struct node* node = context;
    const bowline_handler handler = {sizeof handler, NULL, NULL, NULL};
    ++node->heard;
    node->copy = *message;
    CHECK_REFUSED(bowline_engine_poll(node->engine, &handler, 1, NULL), BOWLINE_WRONG_STATE, "within a handler");
    CHECK_REFUSED(bowline_engine_stop(node->engine, NULL, 0), BOWLINE_WRONG_STATE, "within a handler");
    CHECK_REFUSED(bowline_engine_destroy(node->engine), BOWLINE_WRONG_STATE, "within a handler");
    node->misused = 1;
}

static void misuse_on_event(void* context, const bowline_event* event) {
    struct node* node = context;
    node->views += event->kind == BOWLINE_EVENT_VIEW_CHANGED;
}

static void misuse_config(void) {
    bowline_config* config = NULL;
    char text[16];
    size_t length = 0;
    CHECK_REFUSED(bowline_config_create(NULL), BOWLINE_INVALID_ARGUMENT, "config is NULL");
    CHECK_REFUSED(bowline_config_load("/nonexistent.toml", &config), BOWLINE_CONFIGURATION, "/nonexistent.toml");
    CHECK_REFUSED(bowline_config_load(NULL, &config), BOWLINE_INVALID_ARGUMENT, "path is NULL");
    CHECK_REFUSED(bowline_config_parse("name = 5", "here", &config), BOWLINE_CONFIGURATION, "here:1:8: key 'name'");
    CHECK_REFUSED(bowline_config_parse("x = = 5", "here", &config), BOWLINE_CONFIGURATION, "not TOML");
    CHECK(config == NULL);
    CHECK_OK(bowline_config_parse("name = \"a\"\nack_delay = \"1ms\"", "here", &config));
    CHECK_REFUSED(bowline_config_set(config, "widnow", "4"), BOWLINE_CONFIGURATION, "did you mean 'window'?");
    CHECK_REFUSED(bowline_config_set(config, "window", NULL), BOWLINE_INVALID_ARGUMENT, "value is NULL");
    CHECK_REFUSED(bowline_config_set(NULL, "window", "4"), BOWLINE_INVALID_ARGUMENT, "config is NULL");
    CHECK_OK(bowline_config_get(config, "ack_delay", text, sizeof text, &length));
    CHECK(strcmp(text, "1ms") == 0 && length == 3);
    CHECK_REFUSED(bowline_config_get(config, "ack_delay", text, 3, &length), BOWLINE_TOO_LARGE, "4 bytes");
    CHECK(bowline_config_get(config, "ack_delay", NULL, 0, &length) == BOWLINE_TOO_LARGE && length == 3);
    CHECK_REFUSED(bowline_config_get(config, "ack_dealy", text, 3, NULL), BOWLINE_CONFIGURATION, "unknown key");
    CHECK_REFUSED(bowline_config_validate(config), BOWLINE_CONFIGURATION, "device");
    bowline_config_destroy(config);
    bowline_config_destroy(NULL);
}

static void misuse_null(bowline_engine* engine, bowline_peer* peer) {
    bowline_engine* none = NULL;
    bowline_peer* no_peer = NULL;
    void* room = &none;
    const bowline_handler handler = {sizeof handler, NULL, NULL, NULL};
    CHECK_REFUSED(bowline_engine_start(NULL, &none), BOWLINE_INVALID_ARGUMENT, "config is NULL");
    CHECK_REFUSED(bowline_engine_start(NULL, NULL), BOWLINE_INVALID_ARGUMENT, "engine is NULL");
    CHECK_REFUSED(bowline_engine_poll(NULL, &handler, 1, NULL), BOWLINE_INVALID_ARGUMENT, "engine is NULL");
    CHECK_REFUSED(bowline_engine_poll(engine, NULL, 1, NULL), BOWLINE_INVALID_ARGUMENT, "handler is NULL");
    CHECK_REFUSED(bowline_engine_peer(engine, NULL, &no_peer), BOWLINE_INVALID_ARGUMENT, "name is NULL");
    CHECK_REFUSED(bowline_engine_peer(engine, "x", &no_peer), BOWLINE_CONFIGURATION, "no peer 'x'");
    CHECK_REFUSED(bowline_engine_install_view(engine, NULL, 1), BOWLINE_INVALID_ARGUMENT, "names is NULL");
    CHECK_REFUSED(bowline_engine_view(engine, NULL), BOWLINE_INVALID_ARGUMENT, "view is NULL");
    CHECK_REFUSED(bowline_engine_counters(NULL, NULL), BOWLINE_INVALID_ARGUMENT, "counters is NULL");
    CHECK_REFUSED(bowline_peer_send(NULL, "", 0, NULL), BOWLINE_INVALID_ARGUMENT, "peer is NULL");
    CHECK_REFUSED(bowline_peer_send(peer, NULL, 1, NULL), BOWLINE_INVALID_ARGUMENT, "data is NULL");
    CHECK_REFUSED(bowline_peer_try_claim(NULL, 1, &room), BOWLINE_INVALID_ARGUMENT, "peer is NULL");
    CHECK(room == NULL && no_peer == NULL);
    CHECK_REFUSED(bowline_peer_commit(NULL, NULL), BOWLINE_INVALID_ARGUMENT, "peer is NULL");
    CHECK_REFUSED(bowline_peer_close(NULL), BOWLINE_INVALID_ARGUMENT, "peer is NULL");
    CHECK_REFUSED(bowline_peer_get_status(peer, NULL), BOWLINE_INVALID_ARGUMENT, "status is NULL");
    CHECK_REFUSED(bowline_message_hold(NULL, NULL), BOWLINE_INVALID_ARGUMENT, "held is NULL");
    CHECK_OK(bowline_engine_destroy(NULL));
    CHECK_OK(bowline_held_message_release(NULL));
    bowline_view_free(NULL);
    bowline_counters_free(NULL);
    CHECK(bowline_engine_peer_count(NULL) == 0 && bowline_engine_peer_at(engine, 1) == NULL);
    CHECK(bowline_peer_name(NULL) == NULL && bowline_peer_claim_max(NULL) == 0 && bowline_view_id(NULL) == 0);
}

static void misuse_sizes(bowline_engine* engine, bowline_peer* peer) {
    struct {
        bowline_peer_status status;
        uint64_t newer;
    } larger = {.status = {.size = sizeof larger}, .newer = 7};
    bowline_peer_status status = {0};
    bowline_handler handler = {0, NULL, NULL, NULL};
    CHECK_REFUSED(bowline_engine_poll(engine, &handler, 1, NULL), BOWLINE_INVALID_ARGUMENT, "sizeof(bowline_handler)");
    handler.size = sizeof handler + 8;
    CHECK_REFUSED(bowline_engine_stop(engine, &handler, 0), BOWLINE_INVALID_ARGUMENT, "sizeof(bowline_handler)");
    CHECK_REFUSED(bowline_peer_get_status(peer, &status), BOWLINE_INVALID_ARGUMENT, "`size` is not set");
    /* An older program's struct ends earlier, a newer one's later. */
    status.size = offsetof(bowline_peer_status, acknowledged);
    status.acknowledged = 77;
    CHECK_OK(bowline_peer_get_status(peer, &status));
    CHECK(status.size == offsetof(bowline_peer_status, acknowledged) && status.acknowledged == 77);
    CHECK_OK(bowline_peer_get_status(peer, &larger.status));
    CHECK(larger.status.size == sizeof larger.status && larger.newer == 7);
    CHECK_REFUSED(bowline_engine_stop(engine, NULL, -1), BOWLINE_INVALID_ARGUMENT, "linger_ns");
}

static void* from_another_thread(void* context) {
    struct node* node = context;
    const bowline_handler handler = {sizeof handler, NULL, NULL, NULL};
    bowline_view* view = NULL;
    void* room = NULL;
    CHECK(bowline_last_error()[0] == '\0'); /* the texts are each thread's own */
    CHECK_REFUSED(bowline_peer_send(node->peer, "x", 1, NULL), BOWLINE_WRONG_THREAD, "wrong thread");
    CHECK_REFUSED(bowline_peer_try_claim(node->peer, 1, &room), BOWLINE_WRONG_THREAD, "thread");
    CHECK_REFUSED(bowline_peer_commit(node->peer, NULL), BOWLINE_WRONG_THREAD, "thread");
    CHECK_REFUSED(bowline_engine_poll(node->engine, &handler, 1, NULL), BOWLINE_WRONG_THREAD, "thread");
    CHECK_REFUSED(bowline_engine_view(node->engine, &view), BOWLINE_WRONG_THREAD, "thread");
    CHECK_REFUSED(bowline_engine_stop(node->engine, NULL, 0), BOWLINE_WRONG_THREAD, "thread");
    CHECK_REFUSED(bowline_engine_destroy(node->engine), BOWLINE_WRONG_THREAD, "thread");
    CHECK(bowline_peer_claim_max(node->peer) == 0);
    return NULL;
}

static void misuse_claims(struct node* node, bowline_peer* self, const bowline_handler* handler) {
    void* room = NULL;
    uint64_t number = 0;
    CHECK_REFUSED(bowline_peer_commit(self, NULL), BOWLINE_WRONG_STATE, "there is no claim");
    CHECK_REFUSED(bowline_peer_try_claim(self, bowline_peer_claim_max(self) + 1, &room), BOWLINE_TOO_LARGE,
                  "too large");
    CHECK_OK(bowline_peer_try_claim(self, 1, &room));
    CHECK_OK(bowline_peer_abandon(self));
    CHECK_REFUSED(bowline_peer_commit(self, NULL), BOWLINE_WRONG_STATE, "there is no claim");
    CHECK_OK(bowline_peer_try_claim(self, 1, &room));
    CHECK_OK(bowline_engine_poll(node->engine, handler, 16, NULL));
    CHECK_REFUSED(bowline_peer_commit(self, NULL), BOWLINE_WRONG_STATE, "with a poll");
    CHECK_OK(bowline_peer_try_claim(self, 1, &room));
    CHECK_OK(bowline_peer_send(self, NULL, 0, &number));
    CHECK(number == 1);
    CHECK_REFUSED(bowline_peer_commit(self, NULL), BOWLINE_WRONG_STATE, "with a send");
}

static void misuse(void) {
    const char* addresses[2] = {"10.0.0.1/24", "10.0.0.2,02:00:00:00:00:02"};
    const char* view_names[2] = {"b", "x"};
    struct node node = {0};
    const bowline_handler handler = {sizeof handler, &node, misuse_on_message, misuse_on_event};
    static char large[(64 << 10) + 1];
    bowline_peer* self = NULL;
    bowline_view* view = NULL;
    bowline_view_member member = {.size = sizeof member};
    bowline_held_message* held = NULL;
    pthread_t thread;
    const time_t deadline = now_s() + DEADLINE_S;
    misuse_config();

    bowline_config* config = config_of("a", "b", "null", addresses);
    CHECK_OK(bowline_config_set(config, "views", "external"));
    CHECK_OK(bowline_engine_start(config, &node.engine));
    bowline_config_destroy(config);
    CHECK(strstr(bowline_engine_describe(node.engine), "null") != NULL);
    CHECK_OK(bowline_engine_peer(node.engine, "b", &node.peer));
    CHECK_OK(bowline_engine_peer(node.engine, "a", &self));

    misuse_null(node.engine, node.peer);
    misuse_sizes(node.engine, node.peer);
    CHECK(pthread_create(&thread, NULL, from_another_thread, &node) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK_REFUSED(bowline_peer_send(self, large, sizeof large, NULL), BOWLINE_TOO_LARGE, "too large");
    CHECK_REFUSED(bowline_peer_rotate(self), BOWLINE_MISUSE, "this node itself");
    CHECK_REFUSED(bowline_engine_install_view(node.engine, view_names, 2), BOWLINE_CONFIGURATION, "'x'");
    CHECK_OK(bowline_engine_install_view(node.engine, view_names, 1));
    CHECK_OK(bowline_peer_close(node.peer));
    CHECK_OK(bowline_peer_forget(node.peer));

    misuse_claims(&node, self, &handler);
    while (node.heard == 0 || node.views == 0) {
        CHECK(now_s() < deadline);
        CHECK_OK(bowline_engine_poll(node.engine, &handler, 16, NULL));
    }
    CHECK(node.misused == 1 && node.copy.peer == self && node.copy.length == 0);
    CHECK_REFUSED(bowline_message_hold(&node.copy, &held), BOWLINE_WRONG_STATE, "has returned");
    CHECK_OK(bowline_engine_view(node.engine, &view));
    CHECK(bowline_view_member_count(view) == 1 && bowline_view_id(view) > 0);
    CHECK(strcmp(bowline_view_self(view), "a") == 0);
    CHECK_OK(bowline_view_member_at(view, 0, &member));
    CHECK(strcmp(member.name, "b") == 0 && strcmp(member.address, "10.0.0.2") == 0 && member.up == 0);
    CHECK_REFUSED(bowline_view_member_at(view, 1, &member), BOWLINE_INVALID_ARGUMENT, "beyond");
    bowline_view_free(view);

    CHECK_OK(bowline_engine_stop(node.engine, NULL, 0));
    CHECK_OK(bowline_engine_stop(node.engine, NULL, 0));
    bowline_counters* counters = NULL;
    bowline_peer_status status = {.size = sizeof status};
    CHECK_REFUSED(bowline_peer_send(self, "x", 1, NULL), BOWLINE_CLOSED, "closed");
    CHECK_REFUSED(bowline_peer_commit(self, NULL), BOWLINE_CLOSED, "stopped");
    CHECK_REFUSED(bowline_engine_poll(node.engine, &handler, 16, NULL), BOWLINE_CLOSED, "stopped");
    CHECK_REFUSED(bowline_engine_counters(node.engine, &counters), BOWLINE_CLOSED, "stopped");
    CHECK_REFUSED(bowline_peer_get_status(self, &status), BOWLINE_CLOSED, "stopped");
    CHECK_REFUSED(bowline_peer_rotate(node.peer), BOWLINE_CLOSED, "stopped");
    CHECK(bowline_peer_claim_max(self) == 0);
    CHECK(strcmp(bowline_peer_name(node.peer), "b") == 0);
    CHECK_OK(bowline_engine_destroy(node.engine));
}

static void texts(void) {
    for (int status = BOWLINE_OK; status <= BOWLINE_INTERNAL; ++status) {
        CHECK(strcmp(bowline_status_text((bowline_status)status), "unknown") != 0);
    }
    CHECK(strcmp(bowline_status_text((bowline_status)(BOWLINE_INTERNAL + 1)), "unknown") == 0);
    CHECK(strcmp(bowline_event_kind_text(BOWLINE_EVENT_PEER_DOWN), "PeerDown") == 0);
    CHECK(strcmp(bowline_down_text(BOWLINE_DOWN_SILENT), "silent") == 0);
    CHECK(strcmp(bowline_certainty_text(BOWLINE_UNCERTAIN), "uncertain") == 0);
    CHECK(strcmp(bowline_event_kind_text(99), "unknown") == 0);
    CHECK(strlen(bowline_version()) >= 5);
}

static int ended_well(pid_t child) {
    int status = 0;
    return child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

/* This program as a process of its own. A fork alone would not do: DPDK seeds its random numbers as it is loaded, and
 * the two nodes would choose the same MAC address. */
static pid_t start(const char* program, const char* role, const char* device) {
    const pid_t child = fork();
    if (child == 0) {
        execl(program, program, role, device, (char*)NULL);
        perror(program);
        _exit(1);
    }
    return child;
}

int main(int argc, char** argv) {
    const char* of_a[2] = {"10.0.0.1/24", "10.0.0.2"};
    const char* of_b[2] = {"10.0.0.2/24", "10.0.0.1"};
    if (argc == 3 && strcmp(argv[1], "a") == 0) {
        exchange("a", "b", argv[2], of_a);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "b") == 0) {
        exchange("b", "a", argv[2], of_b);
        return 0;
    }
    if (argc == 3 && strcmp(argv[1], "misuse") == 0) {
        texts();
        misuse();
        return 0;
    }

    char folder[] = "/tmp/bowline-c-api.XXXXXX";
    char path[64];
    char device[80];
    if (mkdtemp(folder) == NULL) {
        perror(folder);
        return 1;
    }
    snprintf(path, sizeof path, "%s/s", folder);
    snprintf(device, sizeof device, "memif:%s", path);
    int well = ended_well(start(argv[0], "misuse", "null"));
    const pid_t a = start(argv[0], "a", device);
    const pid_t b = start(argv[0], "b", device);
    well = ended_well(a) && well;
    well = ended_well(b) && well;
    unlink(path);
    strcat(path, ".lock");
    unlink(path);
    if (rmdir(folder) != 0) {
        perror(folder);
        well = 0;
    }
    return well ? 0 : 1;
}
