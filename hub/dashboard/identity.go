package dashboard

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
)

// person is somebody who has signed in, and the way to the hub's API with their own rights.
type person struct {
	name   string
	groups []string
	// via says how they signed in.
	via string
	hub client.Client
	// until is when their credential ends; zero if that is not known.
	until time.Time
	// certificate is the hash of the one that they signed in with; the browser must go on
	// showing it.
	certificate [sha256.Size]byte

	mu     sync.Mutex
	rights map[access]granted
}

// refusedError says that somebody may not sign in, in words for them.
type refusedError struct{ why string }

func (e refusedError) Error() string { return e.why }

func refused(format string, args ...any) error { return refusedError{fmt.Sprintf(format, args...)} }

// door makes persons of credentials.
type door struct {
	// hub is the way to the API with the hub's own rights. It is used for nothing but to
	// impersonate those who showed a certificate.
	hub    *rest.Config
	mapper meta.RESTMapper
	scheme *runtime.Scheme
}

// apiTimeout bounds each request that is made for a page.
const apiTimeout = 15 * time.Second

func newDoor(hub *rest.Config, mapper meta.RESTMapper) (*door, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(authenticationv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return &door{hub: hub, mapper: mapper, scheme: scheme}, nil
}

// maxToken bounds what is taken for a token.
const maxToken = 16 << 10

// byToken lets in who has a token that the hub's API accepts.
func (d *door) byToken(ctx context.Context, token string) (*person, error) {
	token = strings.TrimSpace(token)
	if token == "" {
		return nil, refused("The token is missing.")
	}
	if len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, refused("This is no token: one has no spaces and no line breaks.")
	}
	cfg := rest.AnonymousClientConfig(d.hub)
	cfg.BearerToken = token
	return d.enter(ctx, cfg, &person{via: "token"})
}

// byCertificate lets in who showed a certificate that TLS has verified. The API server makes
// the same user and groups of it.
func (d *door) byCertificate(ctx context.Context, certificate *x509.Certificate) (*person, error) {
	if certificate.Subject.CommonName == "" {
		return nil, refused("The certificate names nobody.")
	}
	cfg := rest.CopyConfig(d.hub)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: certificate.Subject.CommonName, Groups: certificate.Subject.Organization}
	return d.enter(ctx, cfg, &person{via: "certificate", until: certificate.NotAfter, certificate: sha256.Sum256(certificate.Raw)})
}

// byKubeconfig lets in whoever started this program, as the user of its kubeconfig.
func (d *door) byKubeconfig(ctx context.Context) (*person, error) {
	return d.enter(ctx, rest.CopyConfig(d.hub), &person{via: "kubeconfig"})
}

// enter asks the hub's API who this is.
func (d *door) enter(ctx context.Context, cfg *rest.Config, p *person) (*person, error) {
	cfg.Timeout = apiTimeout
	cfg.QPS = -1
	cfg.UserAgent = "fairlead-dashboard"
	hub, err := client.New(cfg, client.Options{Scheme: d.scheme, Mapper: d.mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub's API: %w", err)
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := hub.Create(ctx, review); err != nil {
		if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
			return nil, refused("The hub does not accept this %s: it is mistyped, has ended, or was withdrawn.", p.via)
		}
		return nil, fmt.Errorf("asking the hub's API who this is: %w", err)
	}
	p.hub, p.name, p.groups, p.rights = hub, review.Status.UserInfo.Username, review.Status.UserInfo.Groups, map[access]granted{}
	if _, agent := contract.AgentCluster(p.name); agent {
		return nil, refused("This is the credential of an agent. Sign in with that of a person, or of a service account.")
	}
	if strings.HasPrefix(p.name, contract.BootstrapUserPrefix) {
		return nil, refused("This is a join token, which is for `agent join` only. Sign in with the token of a service account.")
	}
	if p.name == "" || p.name == "system:anonymous" {
		return nil, refused("The hub does not know whose %s this is.", p.via)
	}
	return p, nil
}
