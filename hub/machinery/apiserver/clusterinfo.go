package apiserver

import (
	"context"
	"errors"
	"fmt"
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

	"fairlead.dev/common/contract"
)

// ClusterInfo is what an agent is told that knows nothing of the hub but its address.
type ClusterInfo struct {
	// Server is the URL by which members reach the hub's API server.
	Server string
	// CA is the certificate authority of that server, in PEM.
	CA []byte
	// Signed are the ids of the join tokens for which this is signed.
	Signed map[string]bool
}

// ErrNoClusterInfo says that the hub tells nothing to agents that want to join.
var ErrNoClusterInfo = errors.New("the hub has no ConfigMap kube-public/cluster-info")

func clusterInfoKey() types.NamespacedName {
	return types.NamespacedName{Namespace: metav1.NamespacePublic, Name: bootstrapapi.ConfigMapClusterInfo}
}

// GetClusterInfo reads what agents are told. The error is ErrNoClusterInfo if that is
// nothing.
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
		info.Server, info.CA = cluster.Server, cluster.CertificateAuthorityData
	}
	for key := range cm.Data {
		if id, ok := strings.CutPrefix(key, bootstrapapi.JWSSignatureKeyPrefix); ok && id != "" {
			info.Signed[id] = true
		}
	}
	return info, nil
}

// render returns the ConfigMap as the hub applies it. The signatures, which a controller
// of Kubernetes adds, are not in it and stay.
func (c ClusterInfo) render() (*unstructured.Unstructured, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters[""] = &clientcmdapi.Cluster{Server: c.Server, CertificateAuthorityData: c.CA}
	data, err := clientcmd.Write(*config)
	if err != nil {
		return nil, fmt.Errorf("encoding what agents are told: %w", err)
	}
	cm := &unstructured.Unstructured{Object: map[string]any{
		"data": map[string]any{bootstrapapi.KubeConfigKey: string(data)},
	}}
	cm.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMap"))
	cm.SetNamespace(clusterInfoKey().Namespace)
	cm.SetName(clusterInfoKey().Name)
	cm.SetLabels(map[string]string{contract.SystemLabel: contract.LabelTrue})
	return cm, nil
}

// clusterInfo publishes what agents are told.
func (i *installer) clusterInfo(ctx context.Context, info ClusterInfo, adopt bool) error {
	live := &corev1.ConfigMap{}
	err := i.hubClient.Get(ctx, clusterInfoKey(), live)
	switch {
	case apierrors.IsNotFound(err):
	case err != nil:
		return fmt.Errorf("reading what agents are told: %w", err)
	case !adopt && live.Labels[contract.SystemLabel] != contract.LabelTrue:
		if theirs, err := parseClusterInfo(live); err != nil || theirs.Server != info.Server {
			ctrl.LoggerFrom(ctx).Info("Leaving cluster-info as it is, since this hub did not write it", "server", theirs.Server, "ours", info.Server)
		}
		return nil
	}
	cm, err := info.render()
	if err != nil {
		return err
	}
	return i.apply(ctx, cm)
}
