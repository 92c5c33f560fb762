package pki

import "time"

// issueKubelet issues the certificates with which kube-apiserver and the kubelets authenticate to each other.
func (b *Bundle) issueKubelet(now time.Time) error {
	l := b.leaves
	if l.Kubelet == "" {
		return nil
	}
	serving, err := b.ca.Issue(Subject{Name: "system:node:kubelet", Groups: []string{"system:nodes"}, Hosts: []string{l.Kubelet}}, l.Validity, now)
	if err != nil {
		return err
	}
	if err := write(serving, b.KubeletCertFile(), b.KubeletKeyFile()); err != nil {
		return err
	}
	caller, err := b.ca.Issue(Subject{Name: l.KubeletClient}, l.Validity, now)
	if err != nil {
		return err
	}
	return write(caller, b.KubeletClientCertFile(), b.KubeletClientKeyFile())
}

// KubeletCertFile is the certificate of the kubelets.
func (b *Bundle) KubeletCertFile() string { return b.path("kubelet.crt") }

// KubeletKeyFile is the key for KubeletCertFile.
func (b *Bundle) KubeletKeyFile() string { return b.path("kubelet.key") }

// KubeletClientCertFile is the certificate with which kube-apiserver authenticates to kubelets.
func (b *Bundle) KubeletClientCertFile() string { return b.path("kubelet-client.crt") }

// KubeletClientKeyFile is the key for KubeletClientCertFile.
func (b *Bundle) KubeletClientKeyFile() string { return b.path("kubelet-client.key") }
