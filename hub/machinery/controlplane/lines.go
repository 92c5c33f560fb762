package main

import (
	"bytes"
	"fmt"
	"net"
	"net/url"
	"os"

	aggregator "k8s.io/kube-aggregator/pkg/apiserver"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
)

// The hub writes the address where it serves requests for members into a file in the components' working directory. Its
// Service stands for the hub of the same machine: API servers that share an etcd share the Service, and each has its
// own hub.
const (
	linesFile      = "connect.address"
	linesNamespace = "kube-system"
	linesService   = "fairlead-connect"
)

// linesResolver resolves the Service to the hub of this machine.
type linesResolver struct {
	aggregator.ServiceResolver
	file string
}

// ResolveEndpoint implements aggregator.ServiceResolver. If the hub has not written its address, the Service is
// resolved like any other.
func (r linesResolver) ResolveEndpoint(namespace, name string, port int32) (*url.URL, error) {
	if namespace != linesNamespace || name != linesService {
		return r.ServiceResolver.ResolveEndpoint(namespace, name, port)
	}
	content, err := os.ReadFile(r.file)
	if os.IsNotExist(err) {
		return r.ServiceResolver.ResolveEndpoint(namespace, name, port)
	}
	if err != nil {
		return nil, fmt.Errorf("reading where the hub listens for what is for members: %w", err)
	}
	address := string(bytes.TrimSpace(content))
	if _, _, err := net.SplitHostPort(address); err != nil {
		return nil, fmt.Errorf("reading where the hub listens for what is for members, of %s: %w", r.file, err)
	}
	return &url.URL{Scheme: "https", Host: address}, nil
}

// findHub routes requests for members to the hub of this machine.
func findHub(config *app.Config) {
	extra := &config.Aggregator.ExtraConfig
	extra.ServiceResolver = linesResolver{ServiceResolver: extra.ServiceResolver, file: linesFile}
}
