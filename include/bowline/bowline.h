#ifndef BOWLINE_BOWLINE_H
#define BOWLINE_BOWLINE_H

/**
 * Bowline in C: reliable, ordered, exactly-once messages between nodes, at the speed of the device. See README.md.
 *
 * The same as the C++ API (bowline.hpp), for C and for bindings of other languages: opaque handles, status codes, no
 * exception and no C++ type. Everything that is said there of threads, ownership and units holds here.
 *
 * Status: what may fail answers BOWLINE_OK or what was wrong; nothing has changed then, unless it says so.
 * bowline_status_text() names the status, bowline_last_error() explains the calling thread's latest failure.
 *
 * Threads: an engine and all that belongs to it (peers, claims, held messages, its views and counters as they are
 * taken) are its owner's, the thread that started it. From another thread every call answers BOWLINE_WRONG_THREAD and
 * does nothing. A bowline_config, and a view or counters once taken, may be used from one thread at a time, any.
 *
 * Handles: NULL where a handle is wanted is refused with BOWLINE_INVALID_ARGUMENT, and functions that return a value
 * return 0 or NULL for it; to destroy, free or release NULL does nothing. A handle that was destroyed must not be used,
 * nor what belongs to it: a peer is as old as its engine, a name as its peer.
 *
 * Sizes: a struct begins with its size, which the one who makes it sets to sizeof. What is read must have a size that
 * this library knows. What is filled in is filled as far as both know it, and `size` becomes the bytes that were
 * filled.
 *
 * Text is UTF-8 and ends with a zero byte.
 */

/* NOLINTBEGIN(modernize-use-using,modernize-deprecated-headers,modernize-redundant-void-arg): this is C */
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct bowline_config bowline_config;
typedef struct bowline_engine bowline_engine;
typedef struct bowline_peer bowline_peer;
typedef struct bowline_held_message bowline_held_message;
typedef struct bowline_view bowline_view;
typedef struct bowline_counters bowline_counters;

/* ---- status ---- */

/** What became of a call. New ones may come: take what you do not know for a failure. */
typedef enum bowline_status {
    BOWLINE_OK = 0,
    BOWLINE_BACK_PRESSURED = 1, /**< queue, window or packet pool full: poll and offer again */
    BOWLINE_EXCLUDED = 2,       /**< the peer is not in view */
    BOWLINE_CLOSED = 3,         /**< the engine stops or has stopped */
    BOWLINE_TOO_LARGE = 4,      /**< a message larger than message_max, a claim than claim_max, text than its buffer */
    BOWLINE_WRONG_THREAD = 5,   /**< called from a thread that does not own this engine */
    BOWLINE_CONFIGURATION = 6,  /**< a file, key, option or name is wrong: mend it and call again */
    BOWLINE_SYSTEM = 7,         /**< the machine refused: privilege, memory, device */
    BOWLINE_MISUSE = 8,         /**< the call itself, in another way than those that follow */
    BOWLINE_INVALID_ARGUMENT = 9, /**< NULL where a value is wanted, or a struct of a size that is not known */
    BOWLINE_WRONG_STATE = 10,     /**< not now: inside a handler, without a claim, while messages are held */
    BOWLINE_LIMIT_REACHED = 11,   /**< as many messages as held_max allows are held */
    BOWLINE_NO_MEMORY = 12,
    BOWLINE_INTERNAL = 13 /**< an exception came up to this interface; bowline_last_error() has its text */
} bowline_status;

/** The status in words, for example "back-pressured"; "unknown" if there is none of this number. Static. Any thread. */
const char* bowline_status_text(bowline_status status);

/**
 * What was wrong with the latest call of this thread that did not answer BOWLINE_OK, where, and what to do about it.
 * Empty if there was none. Valid until the next call that fails on this thread; at most 2,047 bytes, cut at the end.
 * For the refusals of sending (BOWLINE_BACK_PRESSURED and the like) it is bowline_status_text(). Any thread.
 */
const char* bowline_last_error(void);

/** The version of the library, for example "0.1.0". Static. Any thread. */
const char* bowline_version(void);

/* ---- configuration ---- */

/** A new configuration with every key at its default. To be destroyed. */
bowline_status bowline_config_create(bowline_config** config);
/** The same from a TOML file. BOWLINE_CONFIGURATION names file, line, key and what was expected. */
bowline_status bowline_config_load(const char* path, bowline_config** config);
/** The same from text; `source` stands in for the file's name in errors. */
bowline_status bowline_config_parse(const char* text, const char* source, bowline_config** config);
void bowline_config_destroy(bowline_config* config);

/**
 * Sets one key from text, as `-o KEY=VALUE` does: durations as `10us`, sizes as `64KiB`. The key `peer` adds a peer,
 * NAME=ADDRESS[,MAC].
 */
bowline_status bowline_config_set(bowline_config* config, const char* key, const char* value);
/**
 * Writes a key's value, as bowline_config_set() takes it, into `buffer` of `capacity` bytes. `length`, unless NULL,
 * becomes its length without the zero byte, also when the answer is BOWLINE_TOO_LARGE; `buffer` may be NULL if
 * `capacity` is 0. Peers have no key of their own here.
 */
bowline_status bowline_config_get(const bowline_config* config, const char* key, char* buffer, size_t capacity,
                                  size_t* length);
/** Checks the whole for what no single key can show. bowline_engine_start() does it, too. */
bowline_status bowline_config_validate(const bowline_config* config);

/* ---- what a handler gets ---- */

/** A message: it and its bytes are valid until the handler returns. */
typedef struct bowline_message {
    size_t size;          /**< of this struct, as the library knows it */
    bowline_peer* peer;   /**< who sent it */
    uint64_t number;      /**< in the sender's stream, from 1 on */
    const void* data;     /**< its bytes; not to be read if there are none */
    size_t length;        /**< how many */
    const void* internal; /**< the library's own */
} bowline_message;

typedef enum bowline_event_kind {
    BOWLINE_EVENT_PEER_UP = 0,     /**< associated: messages flow */
    BOWLINE_EVENT_PEER_DOWN = 1,   /**< `down` says why */
    BOWLINE_EVENT_UNDELIVERED = 2, /**< messages first..last to this peer, with `certainty` */
    BOWLINE_EVENT_GAP = 3,         /**< messages first..last from this peer were given up by it */
    BOWLINE_EVENT_VIEW_CHANGED = 4 /**< a view is in force from here on, `first` is its id. `peer`: this node */
} bowline_event_kind;

typedef enum bowline_certainty {
    BOWLINE_UNDELIVERED = 0, /**< never sent: certainly not delivered */
    BOWLINE_UNCERTAIN = 1    /**< sent and never acknowledged: perhaps delivered */
} bowline_certainty;

typedef enum bowline_down {
    BOWLINE_DOWN_NONE = 0,
    BOWLINE_DOWN_STOPPED = 1,   /**< it has stopped in order */
    BOWLINE_DOWN_SILENT = 2,    /**< nothing has come from it for suspect_after */
    BOWLINE_DOWN_RESTARTED = 3, /**< another process has taken its place */
    BOWLINE_DOWN_GAVE_UP = 4,   /**< it has acknowledged nothing for give_up */
    BOWLINE_DOWN_EXCLUDED = 5   /**< it is not in the view that has been installed */
} bowline_down;

/** What has happened, in order with the messages that it concerns. Valid until the handler returns. */
typedef struct bowline_event {
    size_t size;        /**< of this struct, as the library knows it */
    bowline_peer* peer; /**< whom it concerns */
    uint64_t first;
    uint64_t last;
    uint32_t kind;      /**< a bowline_event_kind; new ones may come */
    uint32_t certainty; /**< a bowline_certainty, of BOWLINE_EVENT_UNDELIVERED */
    uint32_t down;      /**< a bowline_down, of BOWLINE_EVENT_PEER_DOWN */
    uint32_t reserved;
} bowline_event;

/** In words, for example "PeerUp", "silent", "uncertain"; "unknown" if there is none of this number. Static. */
const char* bowline_event_kind_text(uint32_t kind);
const char* bowline_down_text(uint32_t down);
const char* bowline_certainty_text(uint32_t certainty);

/**
 * Whom bowline_engine_poll() hands what has arrived. A function that is NULL lets pass what it would get. They may
 * send, claim and hold, not poll, stop or destroy (BOWLINE_WRONG_STATE). A C++ exception that leaves one goes no
 * further: the rest of the turn is handed out, and then the call answers BOWLINE_INTERNAL.
 */
typedef struct bowline_handler {
    size_t size;   /**< sizeof(bowline_handler) */
    void* context; /**< handed to the functions as it is */
    void (*on_message)(void* context, const bowline_message* message);
    void (*on_event)(void* context, const bowline_event* event);
} bowline_handler;

/* ---- engine ---- */

/**
 * Starts a node on what `config` says; the caller is its owner. When it fails nothing is left behind. A process has one
 * engine (DPDK starts once). `config` is copied and may be destroyed.
 */
bowline_status bowline_engine_start(const bowline_config* config, bowline_engine** engine);

/**
 * Takes a turn and hands what has arrived to `handler`, at most `limit` messages and events, in order. `count`, unless
 * NULL, becomes how many there were.
 */
bowline_status bowline_engine_poll(bowline_engine* engine, const bowline_handler* handler, size_t limit, size_t* count);

/**
 * Orderly end: refuses new messages, lets what was accepted be acknowledged (what is not within `linger_ns` is
 * reported), tells the peers, frees the device. `handler`, unless NULL, gets what arrives meanwhile. The engine and its
 * peers remain to be asked; a second stop does nothing. BOWLINE_WRONG_STATE while messages are held: their bytes would
 * go.
 */
bowline_status bowline_engine_stop(bowline_engine* engine, const bowline_handler* handler, int64_t linger_ns);

/** Stops, unless that was done, waiting a second at most, and frees. BOWLINE_WRONG_STATE as for stop. */
bowline_status bowline_engine_destroy(bowline_engine* engine);

/** One line on the device: name, driver, MAC, what is done in software. Valid as long as the engine. Any thread. */
const char* bowline_engine_describe(const bowline_engine* engine);

/** The configured peer of that name, or this node itself. Else BOWLINE_CONFIGURATION. */
bowline_status bowline_engine_peer(bowline_engine* engine, const char* name, bowline_peer** peer);
/** How many peers are configured, this node not counted. Any thread. */
size_t bowline_engine_peer_count(const bowline_engine* engine);
/** One of them, in the order of the configuration; NULL beyond the last. Any thread. */
bowline_peer* bowline_engine_peer_at(bowline_engine* engine, size_t index);

/**
 * Makes the `count` peers of these names, and this node, the members of the view. With `views = "external"` only.
 * Returns once the request is queued; BOWLINE_EVENT_VIEW_CHANGED tells when it is done.
 */
bowline_status bowline_engine_install_view(bowline_engine* engine, const char* const* names, size_t count);

/* ---- peers ---- */

/** Valid as long as the engine. Any thread. */
const char* bowline_peer_name(const bowline_peer* peer);

/**
 * Accepts a message for exactly-once, in-order delivery, or refuses it: BOWLINE_BACK_PRESSURED, _EXCLUDED, _CLOSED,
 * _TOO_LARGE, _WRONG_THREAD. What is refused has no number and leaves no trace. Never blocks; copies `data` once, which
 * may be NULL if `length` is 0. `number`, unless NULL, becomes the message's number, from 1 on, without holes; 0 if it
 * is refused.
 */
bowline_status bowline_peer_send(bowline_peer* peer, const void* data, size_t length, uint64_t* number);

/**
 * Room for a message of `length` bytes in the packet that will carry it, to be filled in place and committed. Refused
 * as by send, with `*data` NULL. One claim a peer at a time: it ends with commit, abandon, the next claim, the next
 * send to that peer, and where a poll begins or ends.
 */
bowline_status bowline_peer_try_claim(bowline_peer* peer, size_t length, void** data);
/** Sends what was filled in. BOWLINE_WRONG_STATE if there is no claim. `number` as for send. */
bowline_status bowline_peer_commit(bowline_peer* peer, uint64_t* number);
/** Gives the claim up, if there is one; nothing was sent. */
bowline_status bowline_peer_abandon(bowline_peer* peer);
/** The largest length that try_claim grants; 0 after a stop, and from another thread than the owner's. */
size_t bowline_peer_claim_max(const bowline_peer* peer);

/** Closes the connections with the peer, both directions: nothing is lost, the next message opens a new one. */
bowline_status bowline_peer_close(bowline_peer* peer);
/** Gives the connection to the peer a new id, under which everything unacknowledged is sent again. */
bowline_status bowline_peer_rotate(bowline_peer* peer);
/** Drops the association with the peer and what is remembered of its stream. See Peer::forget in engine.hpp. */
bowline_status bowline_peer_forget(bowline_peer* peer);

/** What is known of a peer, as of the last poll. Numbers are message numbers; 0 means none yet. */
typedef struct bowline_peer_status {
    size_t size;                /**< sizeof(bowline_peer_status) */
    uint64_t up;                /**< 1: associated and answering; else 0 */
    uint64_t sent;              /**< last message accepted by send */
    uint64_t acknowledged;      /**< all up to here stand in the peer's ring */
    uint64_t delivered;         /**< last message of the peer's handed to this application */
    uint64_t queued_packets;    /**< not yet sent */
    uint64_t in_flight_packets; /**< sent and not yet acknowledged */
    uint64_t packets_sent;      /**< data packets, resent ones included */
    uint64_t retransmits;
    uint64_t acks_received;
    int64_t srtt_ns; /**< smoothed round trip (RFC 6298), 0: not measured yet */
} bowline_peer_status;

/** BOWLINE_CLOSED after a stop. */
bowline_status bowline_peer_get_status(const bowline_peer* peer, bowline_peer_status* status);

/* ---- messages that outlive their handler ---- */

/**
 * Keeps a message's bytes beyond its handler, from within which it is called, without a copy. BOWLINE_LIMIT_REACHED
 * when held_max messages are held; BOWLINE_WRONG_STATE outside the handler; BOWLINE_CLOSED while the engine stops. To
 * be released by the owner before the engine is stopped.
 */
bowline_status bowline_message_hold(const bowline_message* message, bowline_held_message** held);
/** Gives the bytes back. BOWLINE_WRONG_THREAD from another thread than the owner's: it stays held then. */
bowline_status bowline_held_message_release(bowline_held_message* held);

/* Any thread may read these as long as the message is held. */
const void* bowline_held_message_data(const bowline_held_message* held);
size_t bowline_held_message_length(const bowline_held_message* held);
uint64_t bowline_held_message_number(const bowline_held_message* held);
bowline_peer* bowline_held_message_peer(const bowline_held_message* held);

/* ---- views ---- */

/** A node that is in the view, as this node knows it. Text is valid as long as the view. */
typedef struct bowline_view_member {
    size_t size; /**< sizeof(bowline_view_member) */
    const char* name;
    const char* address;  /**< A.B.C.D */
    uint64_t incarnation; /**< of its process, as last met; 0: never met */
    uint64_t up;          /**< 1: as the latest event said; else 0 */
} bowline_view_member;

/** A copy of the view in force. To be freed. For people and tests; it locks for a moment. */
bowline_status bowline_engine_view(const bowline_engine* engine, bowline_view** view);
void bowline_view_free(bowline_view* view);
/** Grows with each view of this node. */
uint64_t bowline_view_id(const bowline_view* view);
/** This node's name: it is always a member. */
const char* bowline_view_self(const bowline_view* view);
/** The other members. BOWLINE_INVALID_ARGUMENT beyond the last. */
size_t bowline_view_member_count(const bowline_view* view);
bowline_status bowline_view_member_at(const bowline_view* view, size_t index, bowline_view_member* member);

/* ---- counters ---- */

/** A copy of the engine's named counters. To be freed. For people and tests, at some cost. BOWLINE_CLOSED after a stop.
 */
bowline_status bowline_engine_counters(const bowline_engine* engine, bowline_counters** counters);
void bowline_counters_free(bowline_counters* counters);
size_t bowline_counters_count(const bowline_counters* counters);
/** NULL, and 0, beyond the last. The name is valid as long as the counters. */
const char* bowline_counters_name(const bowline_counters* counters, size_t index);
uint64_t bowline_counters_value(const bowline_counters* counters, size_t index);

#ifdef __cplusplus
}
#endif
/* NOLINTEND(modernize-use-using,modernize-deprecated-headers,modernize-redundant-void-arg) */

#endif
