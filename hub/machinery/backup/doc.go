// Package backup makes backups of a hub with an API of its own: sealed, verified, and on a schedule.
//
// A backup is sealed for public keys (age, https://age-encryption.org), so the hub cannot read what it has written, nor can whoever steals
// its disk. To see that a file can be restored, it is also sealed for one more key, which is made for this file, is in memory only, and
// ends with the making: by that the file is read back, opened, and restored to a scratch directory, where its database is read
// and decrypted. Only then does it get the name of a backup, so whatever has such a name was restored once.
//
//	Reads:     the database and the keys in the data directory, through the program controlplane; the directory of backups.
//	Writes:    the directory of backups; ConfigMap kube-system/fairlead-hub-backups, which says how they fare.
//	Owns:      files with names that begin with fairlead-, followed by the identity of the hub. What else is in the directory is left alone.
//	Invariant: the newest backup is never deleted; of a hub that is killed at any moment no file is left that looks like a backup and is none.
//	Next:      manifests/monitoring has alerts for it, `hub restore` makes a hub of a backup.
package backup
