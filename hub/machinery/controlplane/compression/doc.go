// Package compression compresses responses of kube-apiserver for clients that prefer that, including watches, which
// kube-apiserver itself never compresses. It is for agents on metered connections: each status that they report on a
// Work comes back to them with the complete Work.
//
// Clients that say nothing, or only accept gzip, as Go clients do by default, are served as before. A client opts in by
// preferring gzip to no compression, in the terms of HTTP (RFC 9110):
//
//	Accept-Encoding: gzip, identity;q=0.5
//
// Each event of a watch is compressed and sent at once. A compressor takes more than a megabyte, so watches share a few
// of them, and each watch keeps the last 32 KiB that it sent (its history), with which the next compressor continues.
// What was just sent thus costs next to nothing when it is sent again. A history is dropped after a while in which only
// bookmarks were sent. The number of histories is bounded per user and in total; a watch without one is compressed
// event by event.
//
// Whoever controls a part of what is compressed and sees the compressed length can guess the rest (CRIME, BREACH). So
// on a watch, an event with a Secret, alone or in a Work, is compressed independently of what precedes and follows it.
// Other responses with a Secret in them, such as a page of Works, are not compressed here; kube-apiserver itself
// compresses those of more than 128 KiB for all clients.
package compression
