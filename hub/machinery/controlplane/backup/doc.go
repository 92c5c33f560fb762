// Package backup writes all that a control plane cannot make again into one file, and makes a data directory from it.
//
// The file is a compressed tar archive: contents.json with the checksum of each part, then the parts, which are the
// authorities and the key that signs tokens (so that agents and administrators still trust what is restored, and are
// trusted by it), the port, and the database. Whoever has the file has these keys.
//
// Keys are read before the snapshot and after it, and have to be the same: whoever exchanges one, or the authority, starts the hub
// again, which may drop what a snapshot of before needs.
//
// A backup is verified by what will be done with it one day: it is restored, to a directory that is removed again, its database is opened
// and read, and all that is encrypted in it is decrypted with the keys beside it.
//
// The database is a snapshot that etcd itself makes at one revision while it goes on serving. A restored one counts on
// from far above that revision, and says that all before is gone: whoever watches what was there reads all of it anew,
// instead of waiting for changes whose numbers are given out a second time.
package backup
