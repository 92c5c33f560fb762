package issuer

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"
	"golang.org/x/sync/singleflight"

	"k8s.io/utils/clock"
)

// Options are the address of an issuer, and the hub's registration there.
type Options struct {
	// URL is the issuer's URL, exactly as in its tokens.
	URL string
	// ClientID is the client that the issuer's tokens must be meant for.
	ClientID string
	// ClientSecretFile is the file of the client's secret, which is read at each use; empty for a public client.
	ClientSecretFile string
	// CAFile is the file of the issuer's certificate authority; empty for those of this machine.
	CAFile string
	// Scopes are requested beside openid.
	Scopes []string
	// SigningAlgs are the accepted signature algorithms of ID tokens; if empty, those that the issuer announces, without the symmetric ones.
	SigningAlgs []string
	// Clock tells the time.
	Clock clock.PassiveClock
}

// Issuer is an OpenID Connect issuer. It is safe for use by many goroutines.
type Issuer struct {
	Options
	http *http.Client
	// looking lets concurrent callers share one discovery.
	looking singleflight.Group

	mu sync.Mutex
	// found is the result of the last successful discovery; nil before the first.
	found *endpoints
	// failed is the error of the last discovery, at the time tried; nil if it succeeded.
	failed error
	tried  time.Time
}

// endpoints are the issuer's endpoints and keys, from its discovery document.
type endpoints struct {
	provider *oidc.Provider
	keys     oidc.KeySet
	oauth    oauth2.Endpoint
	// endSession is the endpoint for signing out; empty if there is none.
	endSession string
	algs       []string
}

// Requests to the issuer.
const (
	timeout = 10 * time.Second
	// maxHeader bounds the header of an answer in bytes, and maxRedirects the number of redirects.
	maxHeader    = 64 << 10
	maxRedirects = 5
	// discoverEvery is the age at which the discovered endpoints are refreshed, in the background.
	discoverEvery = time.Hour
	// discoverAgain is the delay before an issuer that did not answer is asked again.
	discoverAgain = 3 * time.Second
)

// New returns an issuer without asking it, since it need not be up when the hub starts.
func New(o Options) (*Issuer, error) {
	if o.Clock == nil || o.ClientID == "" {
		return nil, errors.New("setting up the issuer: clock and client ID must be given")
	}
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "https" || u.Host == "" || u.RawQuery != "" || u.Fragment != "" || u.User != nil {
		return nil, fmt.Errorf("the issuer %q is not of the form https://HOST[:PORT][/PATH]", o.URL)
	}
	for _, alg := range o.SigningAlgs {
		if !needsKey(alg) {
			return nil, fmt.Errorf("ID tokens of the issuer cannot be believed by %q: name an algorithm that needs the issuer's key, such as RS256 or ES256", alg)
		}
	}
	transport, ok := http.DefaultTransport.(*http.Transport)
	if !ok {
		return nil, errors.New("setting up the issuer: Go's transport is another")
	}
	transport = transport.Clone()
	transport.TLSClientConfig = &tls.Config{MinVersion: tls.VersionTLS12}
	transport.MaxResponseHeaderBytes = maxHeader
	if o.CAFile != "" {
		raw, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("reading the authority of the issuer: %w", err)
		}
		transport.TLSClientConfig.RootCAs = x509.NewCertPool()
		if !transport.TLSClientConfig.RootCAs.AppendCertsFromPEM(raw) {
			return nil, fmt.Errorf("%s, the authority of the issuer, holds no certificate", o.CAFile)
		}
	}
	i := &Issuer{Options: o, http: &http.Client{Transport: bounded{transport}, Timeout: timeout, CheckRedirect: checkRedirect}}
	_, err = i.secret()
	return i, err
}

// Host is the issuer's host, for people.
func (i *Issuer) Host() string {
	u, err := url.Parse(i.URL)
	if err != nil {
		return i.URL
	}
	return u.Host
}

// secret reads the client's secret; empty for a public client.
func (i *Issuer) secret() (string, error) {
	if i.ClientSecretFile == "" {
		return "", nil
	}
	raw, err := os.ReadFile(i.ClientSecretFile)
	if err != nil {
		return "", fmt.Errorf("reading the client secret of the issuer: %w", err)
	}
	secret := strings.TrimSpace(string(raw))
	if secret == "" {
		return "", fmt.Errorf("%s, which is to hold the client secret of the issuer, is empty", i.ClientSecretFile)
	}
	return secret, nil
}

// discover returns the issuer's endpoints. Callers wait for the issuer only until a discovery has succeeded once.
func (i *Issuer) discover(ctx context.Context) (*endpoints, error) {
	found, settled, err := i.cached()
	if settled {
		return found, err
	}
	asked := i.looking.DoChan("", func() (any, error) {
		if _, settled, _ := i.cached(); !settled {
			i.refresh(ctx)
		}
		return nil, nil //nolint:nilnil // the result is stored in i
	})
	if found != nil {
		return found, nil
	}
	select {
	case <-asked:
		found, _, err = i.cached()
		return found, err
	case <-ctx.Done():
		return nil, fmt.Errorf("waiting for the issuer: %w", ctx.Err())
	}
}

// cached returns the result of the last discovery, and whether it need not be repeated now.
func (i *Issuer) cached() (found *endpoints, settled bool, err error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	age := i.Clock.Now().Sub(i.tried)
	fresh := i.found != nil && i.failed == nil && age < discoverEvery
	resting := i.failed != nil && age < discoverAgain
	if i.found == nil {
		err = i.failed
	}
	return i.found, fresh || resting, err
}

// refresh repeats the discovery, and keeps the earlier result if that fails.
func (i *Issuer) refresh(ctx context.Context) {
	found, err := i.ask(ctx)
	i.mu.Lock()
	defer i.mu.Unlock()
	i.tried, i.failed = i.Clock.Now(), err
	if err == nil {
		i.found = found
	}
}

// ask requests the discovery document. It goes on if its caller disconnects, since others wait for the same result.
func (i *Issuer) ask(ctx context.Context) (*endpoints, error) {
	ctx = oidc.ClientContext(context.WithoutCancel(ctx), i.http)
	provider, err := oidc.NewProvider(ctx, i.URL)
	if err != nil {
		return nil, UnavailableError{Host: i.Host(), err: err}
	}
	var more struct {
		Keys        string   `json:"jwks_uri"`
		EndSession  string   `json:"end_session_endpoint"`
		AuthMethods []string `json:"token_endpoint_auth_methods_supported"`
		Algs        []string `json:"id_token_signing_alg_values_supported"`
	}
	if err := provider.Claims(&more); err != nil {
		return nil, UnavailableError{Host: i.Host(), err: err}
	}
	e := &endpoints{provider: provider, keys: oidc.NewRemoteKeySet(ctx, more.Keys), oauth: provider.Endpoint(), algs: i.SigningAlgs}
	for name, address := range map[string]string{"authorization": e.oauth.AuthURL, "token": e.oauth.TokenURL, "keys": more.Keys} {
		if !strings.HasPrefix(address, "https://") {
			return nil, UnavailableError{Host: i.Host(), err: fmt.Errorf("it announces %q for %s, which is no https:// address", address, name)}
		}
	}
	if strings.HasPrefix(more.EndSession, "https://") {
		e.endSession = more.EndSession
	}
	if len(e.algs) == 0 {
		e.algs = slices.DeleteFunc(more.Algs, func(alg string) bool { return !needsKey(alg) })
	}
	switch {
	case i.ClientSecretFile == "":
		e.oauth.AuthStyle = oauth2.AuthStyleInParams
	case len(more.AuthMethods) == 0 || slices.Contains(more.AuthMethods, "client_secret_basic"):
		e.oauth.AuthStyle = oauth2.AuthStyleInHeader
	default:
		e.oauth.AuthStyle = oauth2.AuthStyleInParams
	}
	return e, nil
}

// needsKey says whether a signature algorithm needs the issuer's private key. Unsigned tokens, and tokens signed with the client's secret,
// prove nothing.
func needsKey(alg string) bool {
	switch alg {
	case oidc.RS256, oidc.RS384, oidc.RS512, oidc.ES256, oidc.ES384, oidc.ES512, oidc.PS256, oidc.PS384, oidc.PS512, oidc.EdDSA:
		return true
	}
	return false
}
