// Package peers lets several hubs share one etcd, each with its own kube-apiserver.
//
// What one hub issues and encrypts must be valid for all of them, so they share one authority: the certificate
// authorities, the service account key and the keys that encrypt the database. PREFIX/fairlead-hub/authority in the
// etcd identifies it by hashes, without the keys. Each running hub announces its authority below
// PREFIX/fairlead-hub/running. Decide decides whether a hub may start, given what it finds there.
package peers
