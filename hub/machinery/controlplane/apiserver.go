package main

import (
	"context"
	"fmt"
	"net/http"

	"github.com/spf13/cobra"

	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apiserver/pkg/endpoints/request"
	"k8s.io/apiserver/pkg/server"
	"k8s.io/client-go/rest"
	"k8s.io/component-base/compatibility"
	logsapi "k8s.io/component-base/logs/api/v1"
	"k8s.io/kubernetes/cmd/kube-apiserver/app"
	"k8s.io/kubernetes/cmd/kube-apiserver/app/options"
	"k8s.io/utils/clock"

	"fairlead.dev/hub/machinery/controlplane/agentlimit"
	"fairlead.dev/hub/machinery/controlplane/args"
	"fairlead.dev/hub/machinery/controlplane/authenticator"
	"fairlead.dev/hub/machinery/controlplane/authorizer"
	"fairlead.dev/hub/machinery/controlplane/compression"
	"fairlead.dev/hub/machinery/controlplane/heap"
	"fairlead.dev/hub/machinery/controlplane/hijack"
	"fairlead.dev/hub/machinery/controlplane/preference"
	"fairlead.dev/hub/machinery/controlplane/revocation"
)

// newAPIServer returns the command kube-apiserver. The original command does not allow additional handlers.
func newAPIServer() *cobra.Command {
	o := options.NewServerRunOptions()
	ctx := server.SetupSignalContext()
	var (
		room uint64
		own  privateAddress
	)
	cmd := &cobra.Command{
		Use: "kube-apiserver", Short: "Serve the API of Kubernetes", SilenceUsage: true, Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error {
			trustPublicWeb()
			if room > 0 {
				go heap.Follow(ctx, room)
			}
			return runAPIServer(ctx, o, own)
		},
	}
	cmd.Flags().Uint64Var(&room, args.HeapFlag, 0, "bytes that the heap may fill before garbage is searched as often as by default")
	cmd.Flags().UintVar(&own.socket, args.PrivateFlag, 0, "number of an open file that listens for what runs beside it")
	cmd.Flags().StringVar(&own.open, args.OpenFlag, "", "file whose presence says that others than these may come")
	flags := o.Flags()
	for _, set := range flags.FlagSets {
		cmd.Flags().AddFlagSet(set)
	}
	return cmd
}

// runAPIServer serves until the context ends.
func runAPIServer(ctx context.Context, o *options.ServerRunOptions, own privateAddress) error {
	components := o.GenericServerRunOptions.ComponentGlobalsRegistry
	if err := components.Set(); err != nil {
		return fmt.Errorf("setting versions and features: %w", err)
	}
	// The server need not log the warnings that it sends to its users.
	rest.SetDefaultWarningHandler(rest.NoWarnings{})
	if err := logsapi.ValidateAndApply(o.Logs, components.FeatureGateFor(compatibility.DefaultKubeComponent)); err != nil {
		return fmt.Errorf("setting up the log: %w", err)
	}
	listening, err := own.listen(ctx, o)
	if err != nil {
		return err
	}
	complete, err := o.Complete(ctx)
	if err != nil {
		return fmt.Errorf("completing the options: %w", err)
	}
	if wrong := complete.Validate(); len(wrong) > 0 {
		return utilerrors.NewAggregate(wrong)
	}
	components.AddMetrics()
	config, err := app.NewConfig(complete)
	if err != nil {
		return fmt.Errorf("configuring the servers: %w", err)
	}
	if err := authorizeBySubject(config); err != nil {
		return err
	}
	if err := endRevoked(config); err != nil {
		return err
	}
	cacheAuthentication(config)
	boundUpgradeBuffers(config)
	compressOnDemand(config)
	trimAnswers(config)
	limitAgents(config)
	findHub(config)
	keepLinesAvailable(config)
	announce(config, listening)
	completed, err := config.Complete()
	if err != nil {
		return fmt.Errorf("completing the configuration: %w", err)
	}
	chain, err := app.CreateServerChain(completed)
	if err != nil {
		return fmt.Errorf("making the servers: %w", err)
	}
	prepared, err := chain.PrepareRun()
	if err != nil {
		return fmt.Errorf("preparing the servers: %w", err)
	}
	return prepared.Run(ctx)
}

// authorizeBySubject makes authorization look only at the bindings of the request's subject. All requests pass the
// aggregator's handlers; access reviews, which the hub makes for every line, are answered behind them.
func authorizeBySubject(config *app.Config) error {
	front := config.Aggregator.GenericConfig
	bySubject, err := authorizer.New(config.KubeAPIs.ControlPlane.VersionedInformers.Rbac().V1(), front.Authorization.Authorizer)
	if err != nil {
		return err
	}
	front.Authorization.Authorizer = bySubject
	config.KubeAPIs.ControlPlane.Generic.Authorization.Authorizer = bySubject
	return nil
}

// cacheAuthentication caches the verification of client certificates for a few seconds. All requests pass the
// aggregator's handlers.
func cacheAuthentication(config *app.Config) {
	of := &config.Aggregator.GenericConfig.Authentication
	of.Authenticator = authenticator.New(of.Authenticator, args.ProxiedUserHeader, clock.RealClock{})
}

// endRevoked ends watches whose rights are revoked. All requests pass the aggregator's handlers.
func endRevoked(config *app.Config) error {
	requests := &revocation.Requests{}
	if err := requests.Follow(config.KubeAPIs.ControlPlane.VersionedInformers.Rbac().V1()); err != nil {
		return err
	}
	front := config.Aggregator.GenericConfig
	build := front.BuildHandlerChainFunc
	front.BuildHandlerChainFunc = func(handler http.Handler, c *server.Config) http.Handler {
		return build(requests.Watch(handler, c.LongRunningFunc, c.Authorization.Authorizer), c)
	}
	return nil
}

// boundUpgradeBuffers reduces the memory of idle upgraded connections, most of all that of agents' lines, of which each
// cluster has one. All requests pass the aggregator's handlers.
func boundUpgradeBuffers(config *app.Config) {
	front := config.Aggregator.GenericConfig
	build := front.BuildHandlerChainFunc
	front.BuildHandlerChainFunc = func(handler http.Handler, c *server.Config) http.Handler {
		return build(hijack.Handler(handler, isLineAttach), c)
	}
}

// compressOnDemand compresses responses, including watches, for clients that ask for it. All requests pass the
// aggregator's handlers.
func compressOnDemand(config *app.Config) {
	front := config.Aggregator.GenericConfig
	build := front.BuildHandlerChainFunc
	front.BuildHandlerChainFunc = func(handler http.Handler, c *server.Config) http.Handler {
		return build(compression.Handler(handler), c)
	}
}

// trimAnswers shortens responses to writes for clients that ask for it, before they are compressed. All requests pass
// the aggregator's handlers.
func trimAnswers(config *app.Config) {
	front := config.Aggregator.GenericConfig
	build := front.BuildHandlerChainFunc
	front.BuildHandlerChainFunc = func(handler http.Handler, c *server.Config) http.Handler {
		return build(preference.Handler(handler), c)
	}
}

// limitAgents limits what agents write, both of the hub's kinds and of built-in ones.
func limitAgents(config *app.Config) {
	for _, of := range []*server.Config{&config.ApiExtensions.GenericConfig.Config, config.KubeAPIs.ControlPlane.Generic} {
		of.AdmissionControl = agentlimit.New(of.AdmissionControl, clock.RealClock{})
	}
}

// isLineAttach says whether a request opens an agent's line to the hub. The hub's audit policy matches the same
// requests.
func isLineAttach(req *http.Request) bool {
	info, known := request.RequestInfoFrom(req.Context())
	return known && info.IsResourceRequest && info.APIGroup == "connect.fairlead.dev" && info.Resource == "lines" && info.Subresource == "attach"
}
