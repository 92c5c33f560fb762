// Package kubeconfig renders kubeconfigs. Either everything is embedded, so that the file can be copied elsewhere, or,
// for programs on this machine, the certificate is in a separate file, so that it can be renewed.
package kubeconfig
