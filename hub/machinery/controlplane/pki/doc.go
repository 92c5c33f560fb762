// Package pki makes the certificates and keys of one control plane.
//
// There are two authorities. The cluster authority signs the serving certificate, the client certificates of the
// components and, inside kube-controller-manager, approved certificate signing requests. The front-proxy authority
// signs nothing but the certificate with which kube-apiserver speaks for a user to an aggregated API: were it the same
// authority, every client of the cluster could pose as that proxy.
//
// While the cluster authority is exchanged there are two of it. The order in which their certificates are in one file is
// all there is to know: all are trusted, the first signs.
//
// Authorities and the service account key are made once, but for a front-proxy authority that one control plane alone goes by: it is made anew
// before it ends. Everything else is issued anew at every start, and again while
// a control plane runs before it ends: whoever uses a certificate reads its file again.
package pki
