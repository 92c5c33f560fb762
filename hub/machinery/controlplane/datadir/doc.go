// Package datadir manages the data directory of one control plane: its layout, the lock that keeps a second control
// plane out, and the port that survives a restart.
//
//	DIR/lock               locked while a control plane runs; contains its process id
//	DIR/port               the port of the API server, chosen at the first start
//	DIR/admin.kubeconfig   for the administrator, unless --kubeconfig names another path
//	DIR/etcd               the database
//	DIR/etcd.json          the external database that is used instead
//	DIR/pki                certificates and keys
//	DIR/kubeconfigs        one kubeconfig per component
//	DIR/logs               one log per component, and the previous one
//	DIR/restoring          exists while a backup is restored to the directory
//	DIR/shrinking          exists while the database is defragmented
//	DIR/fairlead-verify-*  exists while a backup is restored to verify it
//	DIR/run                working directory of the components, with the unix sockets of etcd
package datadir
