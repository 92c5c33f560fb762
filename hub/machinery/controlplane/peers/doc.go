// Package peers lets several hubs work on one etcd, each with a kube-apiserver of its own.
//
// What a hub issues and encrypts must be good at all of them, so all go by one authority: the certificate authorities, the key of
// service accounts and the keys that encrypt the database. The etcd says which: PREFIX/fairlead-hub/authority has hashes of it, and no
// key. Below PREFIX/fairlead-hub/running each hub that runs says by what it goes, as long as it does. Decide says whether a hub may
// start beside what it finds there.
package peers
