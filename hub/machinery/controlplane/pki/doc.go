// Package pki creates the certificates and keys of one control plane.
//
// There are two authorities. The cluster authority signs the serving certificate, the client certificates of the
// components and, inside kube-controller-manager, approved certificate signing requests. The front-proxy authority only
// signs the certificate with which kube-apiserver impersonates users at an aggregated API: with a shared authority,
// every client of the cluster could act as that proxy.
//
// During an exchange there are two cluster authorities. The order of their certificates in one file is the whole state:
// all are trusted, and the first one signs.
//
// Authorities and the service account key are created once. The exception is a front-proxy authority that only one
// control plane uses, which is renewed before it expires. Everything else is issued at every start, and again before it
// expires while the control plane runs: its users read the files again.
package pki
