package auth

import (
	"context"
	"crypto/sha256"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/contract"
	"fairlead.dev/common/kube"
	"fairlead.dev/hub/people/issuer"
)

// refusedError says, for the person, why signing in was refused.
type refusedError struct{ why string }

func (e refusedError) Error() string { return e.why }

func refused(format string, args ...any) error { return refusedError{fmt.Sprintf(format, args...)} }

// Authenticator turns credentials into users.
type Authenticator struct {
	// hub reaches the API with the hub's own rights. They are used only to impersonate the owners of verified client certificates.
	hub    *rest.Config
	mapper meta.RESTMapper
	scheme *runtime.Scheme
	clock  clock.PassiveClock
}

// apiTimeout bounds each request to the API for a page.
const apiTimeout = 15 * time.Second

// NewAuthenticator returns an Authenticator for a hub's API.
func NewAuthenticator(hub *rest.Config, mapper meta.RESTMapper, c clock.PassiveClock) (*Authenticator, error) {
	scheme, err := newScheme()
	if err != nil {
		return nil, err
	}
	return &Authenticator{hub: hub, mapper: mapper, scheme: scheme, clock: c}, nil
}

// newScheme returns the scheme of the kinds that are shown, and of access reviews.
func newScheme() (*runtime.Scheme, error) {
	scheme, err := kube.NewScheme()
	if err != nil {
		return nil, err
	}
	if err := errors.Join(authenticationv1.AddToScheme(scheme), authorizationv1.AddToScheme(scheme)); err != nil {
		return nil, fmt.Errorf("building the scheme: %w", err)
	}
	return scheme, nil
}

// viaIssuer is the User.Via of people who signed in at the issuer.
const viaIssuer = "issuer"

// maxToken bounds the length of a token in bytes.
const maxToken = 16 << 10

// ByToken returns the user of a token that the hub's API accepts.
func (a *Authenticator) ByToken(ctx context.Context, token string) (*User, error) {
	token = strings.TrimSpace(token)
	if token == "" {
		return nil, refused("The token is missing.")
	}
	if len(token) > maxToken || strings.ContainsFunc(token, func(r rune) bool { return r <= ' ' || r > '~' }) {
		return nil, refused("This is not a token: tokens have no spaces and no line breaks.")
	}
	cfg := rest.AnonymousClientConfig(a.hub)
	cfg.BearerToken = token
	return a.identify(ctx, cfg, &User{Via: "token"})
}

// ByCertificate returns the user of a client certificate that TLS has verified, with the name and groups that the API server would give it.
func (a *Authenticator) ByCertificate(ctx context.Context, certificate *x509.Certificate) (*User, error) {
	if certificate.Subject.CommonName == "" {
		return nil, refused("The certificate names no user.")
	}
	cfg := rest.CopyConfig(a.hub)
	cfg.Impersonate = rest.ImpersonationConfig{UserName: certificate.Subject.CommonName, Groups: certificate.Subject.Organization}
	return a.identify(ctx, cfg, &User{Via: "certificate", until: certificate.NotAfter, certificate: sha256.Sum256(certificate.Raw)})
}

// ByIssuer returns the user of an ID token. The API decides who that is, as it does for kubectl.
func (a *Authenticator) ByIssuer(ctx context.Context, i *issuer.Issuer, tokens issuer.Tokens) (*User, error) {
	u := &User{Via: viaIssuer, idToken: newIDToken(i, tokens, a.clock)}
	if tokens.Refresh == "" {
		u.until = tokens.Expiry
	}
	cfg := rest.AnonymousClientConfig(a.hub)
	cfg.Wrap(func(next http.RoundTripper) http.RoundTripper { return bearer{next, u.idToken} })
	return a.identify(ctx, cfg, u)
}

// ByKubeconfig returns the user of the kubeconfig with which this program was started.
func (a *Authenticator) ByKubeconfig(ctx context.Context) (*User, error) {
	return a.identify(ctx, rest.CopyConfig(a.hub), &User{Via: "kubeconfig"})
}

// identify asks the hub's API who the user is.
func (a *Authenticator) identify(ctx context.Context, cfg *rest.Config, u *User) (*User, error) {
	cfg.Timeout = apiTimeout
	cfg.QPS = -1
	cfg.UserAgent = "fairlead-dashboard"
	hub, err := client.New(kube.BoundDepth(cfg), client.Options{Scheme: a.scheme, Mapper: a.mapper})
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub's API: %w", err)
	}
	review := &authenticationv1.SelfSubjectReview{}
	if err := hub.Create(ctx, review); err != nil {
		if u.Via == viaIssuer && apierrors.IsUnauthorized(err) {
			return nil, refused("The hub's API does not accept your ID token. Whoever runs the hub can see why in the log of its kube-apiserver: it must know " +
				"the same issuer and client as the dashboard, it may not have reached the issuer yet, or the token lacks a claim that it requires.")
		}
		if apierrors.IsUnauthorized(err) || apierrors.IsForbidden(err) {
			return nil, refused("The hub does not accept this %s: it is mistyped, has expired, or was withdrawn.", u.Via)
		}
		return nil, fmt.Errorf("asking the hub's API who this is: %w", err)
	}
	u.Config = cfg
	u.Hub, u.Name, u.Groups = hub, review.Status.UserInfo.Username, review.Status.UserInfo.Groups
	u.clock, u.rights = a.clock, map[Access]granted{}
	if _, agent := contract.AgentCluster(u.Name); agent {
		return nil, refused("This is the credential of an agent. Sign in with the credential of a user or of a service account.")
	}
	if strings.HasPrefix(u.Name, contract.BootstrapUserPrefix) {
		return nil, refused("This is a join token, which is for `agent join` only. Sign in with the token of a service account.")
	}
	if u.Name == "" || u.Name == "system:anonymous" {
		return nil, refused("The hub does not know the user of this %s.", u.Via)
	}
	return u, nil
}
