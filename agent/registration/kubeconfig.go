package registration

import (
	"crypto/ecdsa"
	"errors"
	"fmt"

	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// keep writes the kubeconfig for the hub.
func (s state) keep(server, cluster string, ca, cert []byte, key *ecdsa.PrivateKey) error {
	rawKey, err := encodeKey(key)
	if err != nil {
		return err
	}
	const hub = "hub"
	context := cluster + "@" + hub
	raw, err := clientcmd.Write(clientcmdapi.Config{
		Clusters:       map[string]*clientcmdapi.Cluster{hub: {Server: server, CertificateAuthorityData: ca}},
		AuthInfos:      map[string]*clientcmdapi.AuthInfo{cluster: {ClientCertificateData: cert, ClientKeyData: rawKey}},
		Contexts:       map[string]*clientcmdapi.Context{context: {Cluster: hub, AuthInfo: cluster}},
		CurrentContext: context,
	})
	if err != nil {
		return fmt.Errorf("encoding %s: %w", KubeconfigFile, err)
	}
	return s.write(KubeconfigFile, raw)
}

// parseKubeconfig parses what keep wrote. It refuses everything else that a kubeconfig can contain, such as commands
// to run, or files to read and send: the text may come from a Secret of the member, and be used by a person's command
// on another machine.
func parseKubeconfig(raw []byte) (*rest.Config, error) {
	parsed, err := clientcmd.Load(raw)
	if err != nil {
		return nil, err //nolint:wrapcheck // the caller says what it was
	}
	context := parsed.Contexts[parsed.CurrentContext]
	if context == nil {
		return nil, errors.New("it has no current context")
	}
	hub, user := parsed.Clusters[context.Cluster], parsed.AuthInfos[context.AuthInfo]
	if hub == nil || user == nil {
		return nil, errors.New("its context has no cluster or no user")
	}
	if user.Exec != nil || user.AuthProvider != nil || user.TokenFile != "" || user.ClientCertificate != "" || user.ClientKey != "" || hub.CertificateAuthority != "" {
		return nil, errors.New("it names a command or a file, and no agent writes that")
	}
	config, err := clientcmd.NewDefaultClientConfig(*parsed, &clientcmd.ConfigOverrides{}).ClientConfig()
	if err != nil {
		return nil, err //nolint:wrapcheck // as above
	}
	return config, nil
}
