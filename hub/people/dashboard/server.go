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
	"fairlead.dev/common/kube"
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
	// Config is the way to the hub's API. Its rights are used to impersonate those who
	// show a certificate and, with Local, as those of the one who opens the page; never else.
	Config *rest.Config
	// Mapper knows the kinds of the hub's API.
	Mapper meta.RESTMapper
	// Cache is the cache that feeds the index.
	Cache cache.Cache
	// Namespace is the namespace that Cache is limited to; empty if it is not.
	Namespace string
	// MayFollow says whether Cache may follow a kind; nil says that it may follow all.
	MayFollow func(context.Context, client.Object) (bool, error)
	// Clock is the time.
	Clock clock.WithTicker
	// Log is for what fails.
	Log logr.Logger
	// Local serves one person on this machine only: whoever has the link of SignInLink
	// is the user of Config. Hosts are then the names that requests may be for.
	Local bool
	Hosts []string
	// Certificates says that TLS asks for client certificates and verifies them with the
	// authority that the hub's API itself trusts.
	Certificates bool
	// Issuer is where people sign in, beside tokens and certificates; nil if there is none. RedirectURL is where it sends
	// browsers back to; empty for the name by which they called, which must be in the dashboard's certificate.
	Issuer      *issuer.Issuer
	RedirectURL string
	// Plain says that there is no TLS, which only Local may be without.
	Plain bool
}

// Server is the dashboard.
type Server struct {
	Deps
	clock   clock.WithTicker
	served  *kube.ServedKinds
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
	// streams are the pages that are open, podStreams the logs and terminals, memberReads the requests that wait for what members answer.
	streams, podStreams, memberReads *auth.OpenLimit
	// conns are the connections, held those of them over which somebody has shown a session.
	conns connlimit.LRU
	held  *auth.OpenLimit
	// tls is how it shows who it is, once it is served.
	tls atomic.Pointer[TLS]
	// filled is closed once the index knows what the cache knew.
	filled chan struct{}
}

// New returns a dashboard that serves nothing yet: see Watch and Handler.
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
		Deps: d, clock: d.Clock, served: kube.ServedThrough(kinds, d.Clock), log: d.Log, hosts: d.Hosts,
		index: index.New(), history: chart.New(), topics: live.NewTopics(d.Clock), filled: make(chan struct{}),
		streams: auth.NewOpenLimit(maxStreams, maxStreamsOfOne), podStreams: auth.NewOpenLimit(maxPodStreams, maxPodStreamsOfOne),
		memberReads: auth.NewOpenLimit(maxMemberReads, maxMemberReadsOfOne),
		conns:       connlimit.LRU{All: maxConns, OfOne: maxConnsOfOne}, held: auth.NewOpenLimit(maxHeldConns, maxHeldConnsOfOne),
	}
	key := make([]byte, sha256.Size)
	_, _ = rand.Read(key) // it never fails: the program would have ended
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

// SignInLink returns a path by which somebody signs in as the user of Config, once and soon. It
// is for Local only.
func (s *Server) SignInLink() string { return s.signIn.Link() }

// Handler serves the dashboard.
func (s *Server) Handler() http.Handler { return s.handler }

// routes says what is served where. Each page is also a stream of what changes on it.
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
	// What goes into members is asked for when somebody looks, and is no stream of fragments.
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

// pages lists the pages by their paths.
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

// asset is a file of the page itself.
type asset struct {
	content []byte
	kind    string
	tag     string
}

// tlsConfig returns how connections are made; certificates are those that the dashboard
// shows and, if it takes any, those whom it lets in.
func tlsConfig(t TLS) *tls.Config {
	c := &tls.Config{MinVersion: tls.VersionTLS12, GetCertificate: t.certificate}
	if t.Clients != nil {
		c.ClientAuth, c.ClientCAs = tls.VerifyClientCertIfGiven, t.Clients
	}
	return c
}

// Run follows the hub and samples its history until the context ends. It is called once.
func (s *Server) Run(ctx context.Context) error {
	if err := s.follow(ctx); err != nil && ctx.Err() == nil {
		return err
	}
	close(s.filled)
	return s.sample(ctx)
}
