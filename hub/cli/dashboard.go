package cli

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net"
	"os"
	"os/exec"
	"runtime"

	"github.com/spf13/cobra"
	"golang.org/x/sync/errgroup"

	"k8s.io/client-go/rest"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/apiutil"

	"fairlead.dev/common/logging"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard"
)

// localDashboardFlags are the flags of `hub dashboard`.
type localDashboardFlags struct {
	hub       hubFlags
	port      int
	namespace string
	open      bool
}

func newDashboard(env Environment) *cobra.Command {
	var f localDashboardFlags
	cmd := &cobra.Command{
		Use:   "dashboard",
		Short: "Open the dashboard on this machine, with your kubeconfig",
		Long: "Serve the dashboard on this machine only, as the user of your kubeconfig, and open it in the browser. The link that is\n" +
			"printed signs in once. The dashboard runs until it is interrupted; nothing needs to be open on the hub but its API.",
		Example: "  hub dashboard\n  hub dashboard --kubeconfig hub.kubeconfig --namespace shop --open=false",
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return f.run(cmd.Context(), env) },
	}
	fs := cmd.Flags()
	f.hub.add(env, cmd)
	fs.IntVar(&f.port, "port", 0, "port on this machine; 0 takes a free one")
	fs.StringVarP(&f.namespace, "namespace", "n", "", "follow the applications of this namespace only, for those who may not see all")
	completeFlag(cmd, "namespace", completing(env, &f.hub, namespaceNames))
	fs.BoolVar(&f.open, "open", true, "open the browser")
	return cmd
}

func (f *localDashboardFlags) run(ctx context.Context, env Environment) error {
	log, err := logging.New(env.Err, logging.FormatText, 0)
	if err != nil {
		return err
	}
	env.SetLogger(log)
	ctx = ctrl.LoggerInto(ctx, log)
	cfg, err := f.hub.config(env)
	if err != nil {
		return err
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", net.JoinHostPort("127.0.0.1", fmt.Sprint(f.port)))
	if err != nil {
		return fmt.Errorf("--port %d cannot be listened on: %w", f.port, err)
	}
	defer func() { _ = l.Close() }()
	g, ctx := errgroup.WithContext(ctx)
	server, err := f.server(ctx, env, cfg, l, g)
	if err != nil {
		return err
	}
	g.Go(func() error { return server.Run(ctx) })
	g.Go(func() error { return server.Serve(ctx, l, nil) })
	link := "http://" + l.Addr().String() + server.SignInLink()
	say(env.Err, "Open this link within two minutes; it is good once. Interrupt this command to end the dashboard.")
	say(env.Out, "%s", link)
	if f.open {
		remove := openBrowser(ctx, link)
		defer remove()
	}
	return g.Wait()
}

// server returns the dashboard, and runs its cache in the group.
func (f *localDashboardFlags) server(ctx context.Context, env Environment, cfg *rest.Config, l net.Listener, g *errgroup.Group) (*dashboard.Server, error) {
	httpClient, err := rest.HTTPClientFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub at %s: %w", cfg.Host, err)
	}
	mapper, err := apiutil.NewDynamicRESTMapper(cfg, httpClient)
	if err != nil {
		return nil, fmt.Errorf("connecting to the hub at %s: %w", cfg.Host, err)
	}
	follows, err := auth.MayFollow(cfg, mapper, f.namespace)
	if err != nil {
		return nil, err
	}
	c, err := dashboard.NewCache(cfg, mapper, f.namespace)
	if err != nil {
		return nil, err
	}
	g.Go(func() error { return c.Start(ctx) })
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return nil, fmt.Errorf("reading the port of %s: %w", l.Addr(), err)
	}
	return dashboard.New(dashboard.Deps{
		Config: cfg, Mapper: mapper, Cache: c, Namespace: f.namespace, MayFollow: follows, Clock: env.Clock, Log: ctrl.LoggerFrom(ctx).WithName("dashboard"),
		Local: true, Plain: true, Hosts: []string{"127.0.0.1:" + port, "localhost:" + port},
	})
}

// openBrowser opens a link in a browser, if this machine has one, and returns a cleanup function. Whoever has the link
// can sign in, and all users of the machine see the arguments of a program. So the browser gets a file, which only its
// owner may read and which redirects to the link.
func openBrowser(ctx context.Context, link string) (remove func()) {
	remove = func() {}
	program := map[string]string{"linux": "xdg-open", "darwin": "open"}[runtime.GOOS]
	path, err := exec.LookPath(program)
	if program == "" || err != nil {
		return remove // the link is printed anyway
	}
	file, err := os.CreateTemp("", "hub-dashboard-*.html")
	if err != nil {
		return remove
	}
	remove = func() { _ = os.Remove(file.Name()) }
	_, err = fmt.Fprintf(file, "<!doctype html><meta http-equiv=\"refresh\" content=\"0; url=%s\"><a href=\"%[1]s\">The dashboard</a>\n", html.EscapeString(link))
	if err = errors.Join(err, file.Close()); err == nil {
		_ = exec.CommandContext(ctx, path, file.Name()).Start() //nolint:gosec // The program is one of two, the file our own.
	}
	return remove
}
