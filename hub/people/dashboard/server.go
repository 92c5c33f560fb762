package dashboard

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"embed"
	"errors"
	"fmt"
	"html/template"
	"net/http"
	"sync/atomic"

	"github.com/go-logr/logr"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"

	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"fairlead.dev/common/connlimit"
	"fairlead.dev/common/kube/watchset"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/chart"
	"fairlead.dev/hub/people/dashboard/index"
	"fairlead.dev/hub/people/issuer"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/view/diff"
)

//go:embed templates/*.html static/*
var files embed.FS

// Deps are the dependencies of the dashboard.
type Deps struct {
	// Config is the configuration for the hub's API. Its rights only serve to impersonate users with a certificate and,
	// with Local, as those of the person who opens the page.
	Config *rest.Config
	// Mapper maps the kinds of the hub's API.
	Mapper meta.RESTMapper
	// Cache feeds the index.
	Cache cache.Cache
	// Namespace is the namespace that Cache is limited to; empty if it is not.
	Namespace string
	// MayFollow says whether Cache may watch a kind; nil means any.
	MayFollow func(context.Context, client.Object) (bool, error)
	// Clock is the clock.
	Clock clock.WithTicker
	// Log logs failures.
	Log logr.Logger
	// Local serves one person on this machine: whoever has the link of SignInLink acts as the user of Config. Hosts are
	// then the host names that are served.
	Local bool
	Hosts []string
	// Certificates requests client certificates, and verifies them with the client authority of the hub's API.
	Certificates bool
	// Issuer is an OpenID Connect issuer for signing in; nil if there is none. RedirectURL is where it sends browsers
	// back to; if empty, it is the host of the request, which must be in the dashboard's certificate.
	Issuer      *issuer.Issuer
	RedirectURL string
	// Plain serves without TLS, which is only allowed with Local.
	Plain bool
}

// Server is the dashboard.
type Server struct {
	Deps
	clock   clock.WithTicker
	served  *watchset.ServedKinds
	log     logr.Logger
	hosts   []string
	signIn  *auth.SignIn
	index   *index.Index
	history *chart.History
	topics  *live.Topics
	mask    diff.Mask
	layout  *template.Template
	assets  map[string]asset
	handler http.Handler
	// streams limits open pages, podStreams logs and terminals, and memberReads requests that wait for members.
	streams, podStreams, memberReads *auth.OpenLimit
	// conns limits connections, and held those on which somebody has presented a session.
	conns connlimit.LRU
	held  *auth.OpenLimit
	// tls is the TLS configuration while it is served.
	tls atomic.Pointer[TLS]
	// filled is closed once the index is as complete as the cache.
	filled chan struct{}
}

// New returns a dashboard; see Run and Handler.
func New(d Deps) (*Server, error) {
	if d.Config == nil || d.Mapper == nil || d.Cache == nil || d.Clock == nil {
		return nil, errors.New("setting up the dashboard: config, mapper, cache and clock must be given")
	}
	if d.Plain && !d.Local {
		return nil, errors.New("setting up the dashboard: without TLS it is for this machine only")
	}
	if d.Plain && d.Issuer != nil {
		return nil, errors.New("setting up the dashboard: without TLS nobody signs in at an issuer")
	}
	authenticator, err := auth.NewAuthenticator(d.Config, d.Mapper, d.Clock)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(d.Config)
	if err != nil {
		return nil, fmt.Errorf("making a client that asks which kinds are served: %w", err)
	}
	s := &Server{
		Deps: d, clock: d.Clock, served: watchset.ServedThrough(kinds, d.Clock), log: d.Log, hosts: d.Hosts,
		index: index.New(), history: chart.New(), topics: live.NewTopics(d.Clock), filled: make(chan struct{}),
		streams: auth.NewOpenLimit(maxStreams, maxStreamsOfOne), podStreams: auth.NewOpenLimit(maxPodStreams, maxPodStreamsOfOne),
		memberReads: auth.NewOpenLimit(maxMemberReads, maxMemberReadsOfOne),
		conns:       connlimit.LRU{All: maxConns, OfOne: maxConnsOfOne}, held: auth.NewOpenLimit(maxHeldConns, maxHeldConnsOfOne),
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // never fails: it would crash the program
	s.mask = diff.NewMask(key)
	s.signIn = auth.NewSignIn(authenticator, d.Clock, auth.Options{
		Local: d.Local, Certificates: d.Certificates, Secure: !d.Plain, Log: d.Log,
		Issuer: d.Issuer, RedirectURL: d.RedirectURL, Serves: s.serves,
		Show:         func(w http.ResponseWriter, p auth.Page, code int) { s.execute(w, "signin", p, code) },
		ShowNextPage: s.showNextPage,
	})
	if s.assets, err = loadAssets(); err != nil {
		return nil, err
	}
	if s.layout, err = template.New("").Funcs(s.functions()).ParseFS(files, "templates/*.html"); err != nil {
		return nil, fmt.Errorf("reading the templates: %w", err)
	}
	s.handler = s.guarded(s.routes())
	return s, nil
}

// SignInLink returns a path with which somebody signs in as the user of Config, once and within a short time. It
// requires Local.
func (s *Server) SignInLink() string { return s.signIn.Link() }

// Handler serves the dashboard.
func (s *Server) Handler() http.Handler { return s.handler }

// routes registers all handlers. Each page also has a stream of its changes.
func (s *Server) routes() *http.ServeMux {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /static/{name}", s.serveAsset)
	s.signIn.Routes(mux)
	for pattern, page := range s.pages() {
		mux.Handle("GET "+pattern, s.signedIn(s.show(page)))
		mux.Handle("GET /live"+pattern, s.signedIn(s.live(page)))
	}
	for pattern, do := range s.actions() {
		mux.Handle("GET "+pattern, s.signedIn(s.confirm(do)))
		mux.Handle("POST "+pattern, s.signedIn(s.act(do)))
	}
	mux.Handle("POST /join", s.signedIn(s.makeJoin))
	// Pages about members ask them when they are loaded, and are not live.
	const app = "/applications/{namespace}/{name}"
	mux.Handle("GET "+app+"/pods", s.signedIn(s.show(s.readingMembers(s.podsPage))))
	mux.Handle("GET "+app+"/logs", s.signedIn(s.show(s.logsPage)))
	mux.Handle("GET "+app+"/logs/stream", s.signedIn(s.streamLogs))
	mux.Handle("GET "+app+"/terminal", s.signedIn(s.show(s.terminalPage)))
	mux.Handle("POST "+app+"/terminal", s.signedIn(s.giveTicket))
	mux.Handle("GET /terminal/{ticket}", s.signedIn(s.openTerminal))
	mux.Handle("/", s.signedIn(func(w http.ResponseWriter, r *http.Request, v *visit) {
		s.serveError(w, r, v, notFoundError{"There is no such page."})
	}))
	return mux
}

// pages returns the pages by path.
func (s *Server) pages() map[string]pageFunc {
	return map[string]pageFunc{
		"/{$}":                             s.overview,
		"/clusters":                        s.clusters,
		"/clusters/{cluster}":              s.cluster,
		"/applications":                    s.applications,
		"/applications/{namespace}/{name}": s.application,
		"/rollouts":                        s.rollouts,
		"/rollouts/{namespace}/{name}":     s.rollout,
		"/policies":                        s.policies,
		"/policies/{namespace}/{name}":     s.policy,
		"/join":                            s.join,
		"/join/{cluster}":                  s.joinProgress,
	}
}

// asset is a static file.
type asset struct {
	content []byte
	kind    string
	tag     string
}

// tlsConfig returns the TLS configuration, with the serving certificate and, if client certificates are accepted, their
// authority.
func tlsConfig(t TLS) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: t.certificate}
	if t.Clients != nil {
		c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, t.Clients
	}
	return c
}

// Run fills the index and samples the history until the context ends. It must be called once.
func (s *Server) Run(ctx context.Context) error {
	if err := s.follow(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	close(s.filled)
	return s.sample(ctx)
}
