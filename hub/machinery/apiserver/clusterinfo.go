package apiserver

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
	bootstrapapi "k8s.io/cluster-bootstrap/token/api"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
)

// ClusterInfo is what the hub publishes without authentication for agents that join and only know the hub's address.
type ClusterInfo struct {
	// Servers are the URLs of the hub's API for members, in the order in which to try them.
	Servers []string
	// Merge adds Servers to those that other hubs of the API have published, instead of replacing them.
	Merge bool
	// CA is the certificate authority of these servers in PEM.
	CA []byte
	// Signed are the ids of the join tokens with which it is signed.
	Signed map[string]bool
}

// ErrNoClusterInfo says that the hub publishes nothing for agents that want to join.
var ErrNoClusterInfo = errors.New("the hub has no ConfigMap kube-public/cluster-info")

func clusterInfoKey() types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespacePublic, Name: bootstrapapi.ConfigMapClusterInfo}
}

// GetClusterInfo reads the published ClusterInfo. It returns ErrNoClusterInfo if there is none.
func GetClusterInfo(ctx context.Context, hubClient client.Reader) (ClusterInfo, error) {
	cm := &corev1.ConfigMap{}
	err := hubClient.Get(ctx, clusterInfoKey(), cm)
	if apierrors.IsNotFound(err) {
		return ClusterInfo{}, ErrNoClusterInfo
	}
	if err != nil {
		return ClusterInfo{}, fmt.Errorf("reading what agents are told: %w", err)
	}
	return parseClusterInfo(cm)
}

func parseClusterInfo(cm *corev1.ConfigMap) (ClusterInfo, error) {
	config, err := clientcmd.Load([]byte(cm.Data[bootstrapapi.KubeConfigKey]))
	if err != nil {
		return ClusterInfo{}, fmt.Errorf("reading the kubeconfig in ConfigMap %q: %w", cm.Name, err)
	}
	if len(config.Clusters) != 1 {
		return ClusterInfo{}, fmt.Errorf("the kubeconfig in ConfigMap %q has %d clusters and should have one", cm.Name, len(config.Clusters))
	}
	info := ClusterInfo{Signed: map[string]bool{}}
	for _, cluster := range config.Clusters {
		info.Servers, info.CA = []string{cluster.Server}, cluster.CertificateAuthorityData
	}
	for server := range strings.FieldsSeq(cm.Data[bootstrap.ServersKey]) {
		if !slices.Contains(info.Servers, server) {
			info.Servers = append(info.Servers, server)
		}
	}
	for key := range cm.Data {
		if id, ok := strings.CutPrefix(key, bootstrapapi.JWSSignatureKeyPrefix); ok && id != "" {
			info.Signed[id] = true
		}
	}
	return info, nil
}

// render returns the ConfigMap as the hub applies it, without the signatures: a Kubernetes controller owns these.
func (c ClusterInfo) render() (*unstructured.Unstructured, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: c.Servers[0], CertificateAuthorityData: c.CA}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding what agents are told: %w", err)
	}
	cm := &unstructured.Unstructured{Object: map[string]any{
		"data": map[string]any{bootstrapapi.KubeConfigKey: string(data), bootstrap.ServersKey: strings.Join(c.Servers, "\n")},
	}}
	cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	cm.SetNamespace(clusterInfoKey().Namespace)
	cm.SetName(clusterInfoKey().Name)
	cm.SetLabels(map[string]string{contract.SystemLabel: contract.LabelTrue})
	return cm, nil
}

// merge adds the servers of one hub to the known ones.
func merge(known, own []string) []string {
	out := slices.Clone(known)
	for _, server := range own {
		if !slices.Contains(out, server) {
			out = append(out, server)
		}
	}
	return out
}

// clusterInfo publishes the ClusterInfo.
func (i *installer) clusterInfo(ctx context.Context, info ClusterInfo, adopt bool) error {
	live := &corev1.ConfigMap{}
	err := i.hubClient.Get(ctx, clusterInfoKey(), live)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading what agents are told: %w", err)
	case !adopt && live.Labels[contract.SystemLabel] != contract.LabelTrue:
		if theirs, err := parseClusterInfo(live); err != nil || theirs.Servers[0] != info.Servers[0] {
			ctrl.LoggerFrom(ctx).Info("Leaving cluster-info as it is, since this hub did not write it", "servers", theirs.Servers, "ours", info.Servers)
		}
		return nil
	}
	if info.Merge {
		return i.mergeClusterInfo(ctx, info)
	}
	cm, err := info.render()
	if err != nil {
		return err
	}
	return i.apply(ctx, cm)
}

// mergeClusterInfo adds the ClusterInfo to that of other hubs of the API, which may start at the same time.
func (i *installer) mergeClusterInfo(ctx context.Context, own ClusterInfo) error {
	for {
		live := &corev1.ConfigMap{}
		err := i.hubClient.Get(ctx, clusterInfoKey(), live)
		if client.IgnoreNotFound(err) != nil {
			return fmt.Errorf("reading what agents are told: %w", err)
		}
		info, isNew := own, err != nil
		if theirs, err := parseClusterInfo(live); err == nil {
			info.Servers = merge(theirs.Servers, own.Servers)
		}
		cm, err := info.render()
		if err != nil {
			return err
		}
		if isNew {
			err = i.hubClient.Create(ctx, cm, client.FieldOwner(contract.FieldManagerInstall))
		} else {
			cm.SetResourceVersion(live.ResourceVersion)
			err = i.hubClient.Apply(ctx, client.ApplyConfigurationFromUnstructured(cm), client.FieldOwner(contract.FieldManagerInstall), client.ForceOwnership)
		}
		switch {
		case err == nil:
			return nil
		case !apierrors.IsConflict(err) && !apierrors.IsAlreadyExists(err) && !apierrors.IsNotFound(err):
			return fmt.Errorf("telling agents of this hub: %w", err)
		case ctx.Err() != nil:
			return fmt.Errorf("telling agents of this hub: %w", errors.Join(ctx.Err(), err))
		}
	}
}
