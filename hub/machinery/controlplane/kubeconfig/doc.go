// Package kubeconfig renders kubeconfigs with everything embedded, so that one file can be handed around, or for what runs on this machine with
// the certificate in a file of its own, so that it can be replaced.
package kubeconfig
