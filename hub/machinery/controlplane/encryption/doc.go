// Package encryption encrypts secrets in the hub's database: Secrets, which also hold join tokens and the revisions of
// rollouts; Works, which carry Secrets to clusters; override policies, which may contain their values; and ConfigMaps.
//
// The hub generates its keys, in encryption/keys.json of the data directory: the first one encrypts, all of them
// decrypt. From the keys, and the operator's configuration if there is one, it renders encryption/config.yaml for
// kube-apiserver. Before kube-apiserver starts, values that are not encrypted according to that file are rewritten. The
// database is then copied, since freed pages and write-ahead logs would keep the previous values. Only after that, keys
// that are no longer needed are dropped, and encryption/sealed.json records that everything is done. Each step can be
// interrupted, and is repeated at the next start.
package encryption
