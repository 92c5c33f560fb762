// Package kubeconfig renders kubeconfigs with everything embedded, so that one file can be handed around.
package kubeconfig
