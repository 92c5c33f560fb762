// Package connlimit bounds how many connections a server has, of all and of one address: a Limit ends the newest where there are
// too many, an LRU the one that was used least recently. They only count.
package connlimit
