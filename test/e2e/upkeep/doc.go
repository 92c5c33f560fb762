// Package upkeep tests an operator's maintenance of a hub with real programs. A hub makes scheduled backups, is killed
// in the middle of one, loses all its data, and is restored from a sealed backup. Its certificate authority is rotated
// while agents stay connected, others join and one is away.
package upkeep
