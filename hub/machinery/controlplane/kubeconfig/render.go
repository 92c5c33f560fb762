package kubeconfig

import (
	"fmt"

	"k8s.io/client-go/tools/clientcmd"
	"k8s.io/client-go/tools/clientcmd/api"
)

// User is the content of a kubeconfig: one cluster and one user.
type User struct {
	// Name is the name of the cluster, the user and the context.
	Name      string
	Server    string
	CA        []byte
	Cert, Key []byte
	// PairFile is the absolute path of a file with the certificate and key, instead of Cert and Key.
	PairFile string
}

// Render returns the kubeconfig of the user.
func Render(u User) ([]byte, error) {
	cfg := api.NewConfig()
	cfg.Clusters[u.Name] = &api.Cluster{Server: u.Server, CertificateAuthorityData: u.CA}
	cfg.AuthInfos[u.Name] = &api.AuthInfo{ClientCertificateData: u.Cert, ClientKeyData: u.Key, ClientCertificate: u.PairFile, ClientKey: u.PairFile}
	cfg.Contexts[u.Name] = &api.Context{Cluster: u.Name, AuthInfo: u.Name}
	cfg.CurrentContext = u.Name
	data, err := clientcmd.Write(*cfg)
	if err != nil {
		return nil, fmt.Errorf("rendering kubeconfig %q: %w", u.Name, err)
	}
	return data, nil
}
