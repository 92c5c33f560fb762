// Package datadir owns the data directory of one control plane: its layout, the lock that keeps a second control plane
// out, and the port that survives a restart.
//
//	DIR/lock               held while a control plane runs; holds its process id
//	DIR/port               the port of the API server, chosen at the first start
//	DIR/admin.kubeconfig   for the user, unless --kubeconfig names another place
//	DIR/etcd               the database
//	DIR/etcd.json          which database of somebody else's is used instead
//	DIR/pki                certificates and keys
//	DIR/kubeconfigs        one kubeconfig per component
//	DIR/logs               one log per component, and the one before it
//	DIR/restoring          there while a backup is restored to the directory
//	DIR/shrinking          there while the file of the database is made smaller
//	DIR/fairlead-verify-*  there while a backup is restored to be verified
//	DIR/run                working directory of the components; holds the unix sockets of etcd
package datadir
