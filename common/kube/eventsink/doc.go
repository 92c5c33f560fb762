// Package eventsink emits events for people: each stage fills in an Event and calls a Sink; a recorder behind it
// writes the events to the API, in order per object and with bounded concurrency, and counts repetitions instead of
// writing them.
package eventsink
