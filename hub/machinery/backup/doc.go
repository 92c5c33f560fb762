// Package backup makes backups of a hub with an embedded API: sealed, verified, and on a schedule.
//
// A backup is sealed for public keys (age, https://age-encryption.org), so neither the hub nor whoever steals its disk
// can read it. To verify that a file can be restored, it is also sealed for an additional key that is generated for
// this file, is kept in memory only, and is dropped when the backup is done. With it, the file is read back, opened,
// and restored to a scratch directory, where its database is read and decrypted. Only then does the file get the name
// of a backup, so every file with such a name was restored once.
//
//	Reads:     the database and the keys in the data directory, through the program controlplane; the
//	           directory of backups.
//	Writes:    the directory of backups; the ConfigMap kube-system/fairlead-hub-backups with their status.
//	Owns:      files whose name starts with fairlead- and the identity of the hub. Other files in the
//	           directory are left alone.
//	Invariant: the newest backup is never deleted. Whenever the hub is killed, it leaves no file that looks
//	           like a backup and is not.
//	Next:      manifests/monitoring has alerts for backups; `hub restore` restores one.
package backup
