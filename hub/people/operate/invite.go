package operate

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/wait"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/machinery/apiserver"
)

// Hub is what agents need to find and authenticate the hub.
type Hub struct {
	// Endpoint is the HOST:PORT; of several hubs that share an API, all of them, separated by commas.
	Endpoint string
	// Hashes are the hashes of the hub's certificate authorities.
	Hashes []string
}

// HubOf returns how agents reach the hub. If the API is not a hub's, the error says what to do.
func HubOf(ctx context.Context, hubClient client.Client) (Hub, error) {
	kind := clusterv1alpha1.GroupVersion.WithKind("Cluster").GroupKind()
	if _, err := hubClient.RESTMapper().RESTMapping(kind); meta.IsNoMatchError(err) {
		return Hub{}, errors.New("the API server of the kubeconfig is not a hub: it does not know the kind Cluster; name another kubeconfig with --kubeconfig")
	} else if err != nil {
		return Hub{}, fmt.Errorf("connecting to the hub: %w", err)
	}
	info, err := apiserver.GetClusterInfo(ctx, hubClient)
	if errors.Is(err, apiserver.ErrNoClusterInfo) {
		return Hub{}, fmt.Errorf("%w, by which agents find it; `hub serve` makes one", err)
	}
	if err != nil {
		return Hub{}, err
	}
	var hub Hub
	endpoints := make([]string, len(info.Servers))
	for i, server := range info.Servers {
		if endpoints[i], err = Endpoint(server); err != nil {
			return Hub{}, err
		}
	}
	hub.Endpoint = strings.Join(endpoints, ",")
	if hub.Hashes, err = bootstrap.CAHash(info.CA); err != nil {
		return Hub{}, fmt.Errorf("the hub publishes no certificate authority for agents: %w", err)
	}
	return hub, nil
}

// Endpoint returns the HOST:PORT of a server's URL.
func Endpoint(server string) (string, error) {
	u, err := url.Parse(server)
	if err != nil || u.Scheme != "https" || u.Hostname() == "" || (u.Path != "" && u.Path != "/") {
		return "", fmt.Errorf("the hub tells agents to dial %q, which is not of the form https://HOST:PORT; correct it with `hub serve --advertise-url`", server)
	}
	if u.Port() == "" {
		u.Host += ":443"
	}
	return u.Host, nil
}

// JoinCommand returns the command for the operator of a cluster.
func (h Hub) JoinCommand(token bootstrap.Token) string {
	var out strings.Builder
	out.WriteString("agent join " + h.Endpoint + " --token " + token.String())
	for _, hash := range h.Hashes {
		out.WriteString(" --discovery-token-ca-cert-hash " + hash)
	}
	name := token.Cluster
	if bootstrap.IsPattern(name) {
		name = "NAME"
	}
	return out.String() + " --cluster-name " + name
}

// Issue creates a token on the hub, and returns once it can be used. If it cannot, the token is deleted: nobody has
// seen it yet.
func Issue(ctx context.Context, hubClient client.Client, token bootstrap.Token) error {
	if token.Member == "" && !bootstrap.IsPattern(token.Cluster) {
		var err error
		if token.Member, err = memberOf(ctx, hubClient, token.Cluster); err != nil {
			return err
		}
	}
	secret := bootstrap.NewSecret(token)
	if err := hubClient.Create(ctx, secret, client.FieldOwner(contract.FieldManagerRegistration)); err != nil {
		return fmt.Errorf("making a token: %w", err)
	}
	if err := awaitSigned(ctx, hubClient, token.ID, secret); err != nil {
		return errors.Join(err, client.IgnoreNotFound(hubClient.Delete(ctx, secret)))
	}
	return nil
}

// memberOf returns the id of the member that has joined under a name, or for which the name is reserved; a token for
// that name is for that member only. It is empty if there is none.
func memberOf(ctx context.Context, hubClient client.Client, name string) (string, error) {
	cluster := &clusterv1alpha1.Cluster{}
	err := hubClient.Get(ctx, client.ObjectKey{Name: name}, cluster)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("looking who has the name %q: %w", name, err)
	}
	if cluster.Spec.ID != "" {
		return cluster.Spec.ID, nil
	}
	kept := &corev1.ConfigMap{}
	err = hubClient.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: contract.RetiredName(name)}, kept)
	if client.IgnoreNotFound(err) != nil {
		return "", fmt.Errorf("looking for whom the name %q is kept: %w", name, err)
	}
	return kept.Data[contract.RetiredMemberKey], nil
}

// How long the Kubernetes controller that signs cluster-info may take.
const (
	signTimeout = 30 * time.Second
	signPoll    = 50 * time.Millisecond
)

// errEnded says that a token has expired.
var errEnded = errors.New("the token ended before ConfigMap kube-public/cluster-info was signed for it: make one that is valid for longer")

// awaitSigned waits until cluster-info is signed with a token, so that the holder of the token can verify it. An
// expired token is never used for signing, and the hub's API deletes its Secret.
func awaitSigned(ctx context.Context, hubClient client.Client, id string, secret *corev1.Secret) error {
	err := wait.PollUntilContextTimeout(ctx, signPoll, signTimeout, true, func(ctx context.Context) (bool, error) {
		info, err := apiserver.GetClusterInfo(ctx, hubClient)
		if err != nil || info.Signed[id] {
			return err == nil, err
		}
		// The caller may be allowed to create tokens but not to read them; then expiry is not detected.
		if err := hubClient.Get(ctx, client.ObjectKeyFromObject(secret), &corev1.Secret{}); apierrors.IsNotFound(err) {
			return false, errEnded
		}
		return false, nil
	})
	if wait.Interrupted(err) && ctx.Err() == nil {
		return fmt.Errorf("the token is revoked, because ConfigMap kube-public/cluster-info was not signed for it within %s: "+
			"the hub's kube-controller-manager must run the controllers bootstrapsigner and tokencleaner", signTimeout)
	}
	return err
}

// ValidateClusterDefaults returns an error for values that no Cluster can have. The error names the field.
func ValidateClusterDefaults(g bootstrap.ClusterDefaults) error {
	for key, value := range g.Labels {
		if problems := validation.IsQualifiedName(key); len(problems) > 0 {
			return fmt.Errorf("labels: the key %q is not valid: %s", key, problems[0])
		}
		if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
			return fmt.Errorf("labels: the value %q of %s is not valid: %s", value, key, problems[0])
		}
	}
	for _, given := range []struct {
		field  string
		values []string
	}{{"provider", []string{g.Provider}}, {"region", []string{g.Region}}, {"zone", g.Zones}} {
		for _, value := range given.values {
			if problems := validation.IsValidLabelValue(value); len(problems) > 0 {
				return fmt.Errorf("%s %q is not valid: %s", given.field, value, problems[0])
			}
		}
	}
	return nil
}
