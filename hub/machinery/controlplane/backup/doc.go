// Package backup writes everything that a control plane cannot recreate into one file, and restores a data directory
// from it.
//
// The file is a compressed tar archive: contents.json with the checksum of each part, then the parts. They are the
// authorities and the key that signs tokens (so that agents and administrators still trust what is restored, and are
// trusted by it), the port, and the database. Whoever has the file has these keys.
//
// Keys are read before and after the snapshot, and must be equal: whoever rotates one, or the authority, restarts the
// hub, which may drop a key that an older snapshot needs.
//
// A backup is verified by a test restore: it is restored to a temporary directory, its database is opened and read, and
// everything encrypted in it is decrypted with the keys of the backup.
//
// The database is a snapshot that etcd makes at one revision while it serves. A restored database continues at a far
// higher revision, and marks all earlier ones as compacted: clients with a watch from before list everything again,
// instead of waiting for revisions that are assigned a second time.
package backup
