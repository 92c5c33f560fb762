// Package encryption keeps what is secret in a hub's database encrypted there: Secrets, which also hold join tokens and the
// revisions that rollouts keep, Works, which carry Secrets to clusters, override policies, which may name their values, and
// ConfigMaps.
//
// The hub makes its keys itself, in encryption/keys.json of the data directory: the first of them encrypts, all of them
// decrypt. From them, and from a configuration of the operator's if there is one, follows encryption/config.yaml, which
// kube-apiserver reads. What is in the database and not encrypted as that file says is written anew before kube-apiserver starts,
// and the database is copied then, since pages that were freed and logs that were written keep what was there before. Only
// after that are keys dropped that nothing needs any more, and encryption/sealed.json notes that all of it is done. Each
// step can be killed and is made again at the next start.
package encryption
