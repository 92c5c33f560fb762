// Package storage counts what the Works of each namespace take of the hub's database. A template is stored once more for each
// of its clusters: without a bound who may write in one namespace fills the database, and then nothing is written for anybody.
package storage
