// Package connlimit bounds the connections of a server, in total and per address: a Limit closes the newest when
// there are too many, an LRU the least recently used. They only count.
package connlimit
