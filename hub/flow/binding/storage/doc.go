// Package storage counts how much of the hub's database the Works of each namespace use. A template is stored once more for each of its
// clusters. Without a limit, users who may write in one namespace could fill the database, and then nobody could write.
package storage
