package dashboard

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"

	"sigs.k8s.io/controller-runtime/pkg/client"

	clusterv1alpha1 "fairlead.dev/common/api/cluster/v1alpha1"
	"fairlead.dev/common/bootstrap"
	"fairlead.dev/common/contract"
	"fairlead.dev/hub/fleet/registration/approve"
	"fairlead.dev/hub/people/auth"
	"fairlead.dev/hub/people/dashboard/joinsteps"
	"fairlead.dev/hub/people/live"
	"fairlead.dev/hub/people/operate"
)

const (
	// handshakeEvery is the interval at which a page reads the progress of a join.
	handshakeEvery = time.Second
	// commandLife is how long a join command is shown to the person who made it.
	commandLife = 15 * time.Minute
	// maxHours is the longest validity of a token.
	maxHours = 24 * 30
)

// joinForm is the form that makes a join command.
type joinForm struct {
	CSRF    string
	Hours   int
	Allowed bool
	// Waiting are the joins that wait for an operator.
	Waiting []operate.Request
	Denied  string
}

func (s *Server) join(ctx context.Context, v *visit) (*page, error) {
	allowed, err := v.user.May(ctx, makesTokens())
	if err != nil {
		return nil, err
	}
	const day = 24
	form := joinForm{CSRF: v.session.CSRF, Hours: day, Allowed: allowed}
	waiting := joinForm{}
	if waiting.Waiting, err = operate.WaitingJoins(ctx, v.user.Hub); err != nil {
		waiting.Denied = err.Error()
	}
	return &page{
		title: "Join a cluster", nav: "join", heading: heading{Title: "Join a cluster"},
		fragments: []fragment{
			{id: "waiting", template: "join-waiting", data: waiting},
			{id: "form", template: "join-form", data: form, still: true},
		},
		every: 3 * time.Second,
	}, nil
}

// makeJoin makes a join command, and redirects to the page that follows the join.
func (s *Server) makeJoin(w http.ResponseWriter, r *http.Request, v *visit) {
	name, command, err := s.createInvitation(r, v)
	if err != nil {
		s.serveError(w, r, v, err)
		return
	}
	s.log.Info("Making a join command", "user", v.user.Name, "Cluster", name)
	s.signIn.Sessions.AddNote(v.session, "join/"+name, command, commandLife)
	http.Redirect(w, r, joinPath(name), http.StatusSeeOther) //nolint:gosec // The name is a DNS label.
}

func (s *Server) createInvitation(r *http.Request, v *visit) (name, command string, err error) {
	ctx := r.Context()
	if err := s.checkForm(r, v); err != nil {
		return "", "", err
	}
	name = strings.TrimSpace(r.PostForm.Get("cluster"))
	if err := bootstrap.ValidateClusterName(name); err != nil {
		return "", "", badRequestError{err.Error()}
	}
	hours, err := strconv.Atoi(r.PostForm.Get("hours"))
	if err != nil || hours < 1 || hours > maxHours {
		return "", "", badRequestError{fmt.Sprintf("A command is good for 1 to %d hours.", maxHours)}
	}
	defaults := bootstrap.ClusterDefaults{Region: strings.TrimSpace(r.PostForm.Get("region")), Provider: strings.TrimSpace(r.PostForm.Get("provider"))}
	if zone := strings.TrimSpace(r.PostForm.Get("zone")); zone != "" {
		defaults.Zones = []string{zone}
	}
	if defaults.Labels, err = labelsOf(r.PostForm.Get("labels")); err != nil {
		return "", "", err
	}
	if err := operate.ValidateClusterDefaults(defaults); err != nil {
		return "", "", badRequestError{err.Error()}
	}
	err = v.user.Hub.Get(ctx, client.ObjectKey{Name: name}, &clusterv1alpha1.Cluster{})
	if err == nil {
		return "", "", badRequestError{fmt.Sprintf("There is a cluster %s already. To give its agent a new certificate, run `hub token create --rejoin %s`.", name, name)}
	}
	if client.IgnoreNotFound(err) != nil {
		return "", "", err
	}
	lead, err := operate.HubOf(ctx, v.user.Hub)
	if err != nil {
		return "", "", err
	}
	token, err := bootstrap.New(rand.Reader, name, v.now.Add(time.Duration(hours)*time.Hour))
	if err != nil {
		return "", "", err
	}
	token.MaxUses, token.Manual, token.Gives, token.CreatedBy = 1, r.PostForm.Get("approval") == contract.ApprovalManual, defaults, v.user.Name
	if err := operate.Issue(ctx, v.user.Hub, token); err != nil {
		return "", "", err
	}
	return name, lead.JoinCommand(token), nil
}

// labelsOf parses KEY=VALUE pairs separated by commas, spaces or line breaks.
func labelsOf(text string) (map[string]string, error) {
	out := map[string]string{}
	for _, pair := range strings.FieldsFunc(text, func(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' }) {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return nil, badRequestError{fmt.Sprintf("%q is not a label: write KEY=VALUE.", pair)}
		}
		out[key] = value
	}
	return out, nil
}

func joinPath(name string) string { return "/join/" + name }

// joinCommand is the join command for the person who made it.
type joinCommand struct {
	Command string
	Minutes int
}

// joinProgress shows the progress of a join.
func (s *Server) joinProgress(ctx context.Context, v *visit) (*page, error) {
	name := v.request.PathValue("cluster")
	if err := bootstrap.ValidateClusterName(name); err != nil {
		return nil, notFoundError{err.Error()}
	}
	steps, err := s.steps(ctx, v, name)
	if err != nil {
		return nil, err
	}
	p := &page{
		title: "Joining " + name, nav: "join",
		heading: heading{Title: name, Kind: "Joining", Trail: []link{{Text: "Join", To: "/join"}}},
		every:   handshakeEvery, follows: func(t live.Topic) bool { return t.Kind == live.Cluster && t.Key == name },
	}
	if steps.Ready {
		p.every = 0
	}
	if command := s.signIn.Sessions.Note(v.session, "join/"+name); command != "" && !steps.Ready {
		p.fragments = append(p.fragments, fragment{
			id: "command", template: "join-command", data: joinCommand{command, int(commandLife.Minutes())}, still: true,
		})
	}
	p.fragments = append(p.fragments, fragment{id: "handshake", template: "handshake", data: steps})
	return p, nil
}

// steps reads, as the person, the progress of a join.
func (s *Server) steps(ctx context.Context, v *visit, name string) (joinsteps.Progress, error) {
	in := joinsteps.Input{Cluster: name, Now: v.now}
	var hidden []string
	read := func(what string, err error) error {
		if apierrors.IsForbidden(err) {
			hidden = append(hidden, what)
			return nil
		}
		return client.IgnoreNotFound(err)
	}
	c := &clusterv1alpha1.Cluster{}
	err := v.user.Hub.Get(ctx, client.ObjectKey{Name: name}, c)
	if err == nil {
		in.Record = c
	}
	failed := read("the Cluster", err)
	lease := &coordinationv1.Lease{}
	err = v.user.Hub.Get(ctx, client.ObjectKey{Namespace: contract.ClusterNamespace, Name: name}, lease)
	if err == nil {
		in.Lease = lease
	}
	failed = errors.Join(failed, read("its heartbeat", err))
	var csrs certificatesv1.CertificateSigningRequestList
	failed = errors.Join(failed, read("requests for certificates", v.user.Hub.List(ctx, &csrs)))
	for _, csr := range csrs.Items {
		if request, ours := approve.Read(csr.Spec); ours && request.Cluster == name && csr.Name != contract.RenewalRequest(name) {
			in.Requests = append(in.Requests, csr)
		}
	}
	if in.Record == nil || in.Record.Spec.ID == "" {
		var secrets corev1.SecretList
		failed = errors.Join(failed, read("join tokens", v.user.Hub.List(ctx, &secrets, client.InNamespace(bootstrap.SecretNamespace),
			client.MatchingFields{"type": string(corev1.SecretTypeBootstrapToken)})))
		in.Tokens = joinsteps.TokensFor(name, secrets.Items)
	}
	in.Hidden = strings.Join(hidden, ", ")
	return joinsteps.Decide(in), failed
}

func (s *Server) askApprove(ctx context.Context, v *visit) (*question, error) {
	name := v.request.PathValue("cluster")
	request, err := operate.WaitingFor(ctx, v.user.Hub, name, operate.RequestFilter{UID: types.UID(v.text("request"))})
	if err != nil {
		return nil, waitingError(err)
	}
	return &question{
		Title: "Accept cluster " + name + "?", Button: "Accept", Back: joinPath(name),
		Text: "Its agent gets a certificate of this name, and is sent what the policies say.",
		Points: []string{
			"Request: " + request.CSR.Name + ", made with token " + cmp.Or(request.Token(), "unknown") + ". Its agent printed that name.",
			"Member: " + cmp.Or(request.Member(), "it tells no id"),
			"It asked at " + request.CSR.CreationTimestamp.UTC().Format(time.RFC1123) + ".",
			"The hub says: " + request.CSR.Annotations[contract.PendingAnnotation],
		},
		Warning: "Compare the name of the request with what the agent printed, and the id with `kubectl get namespace kube-system -o jsonpath={.metadata.uid}` " +
			"in the member: whoever has the token can send a request, with any id.",
		Fields: map[string]string{"request": string(request.CSR.UID)},
	}, nil
}

// waitingError marks an error as not from the API, unless it is.
func waitingError(err error) error {
	if apierrors.ReasonForError(err) != "" {
		return err
	}
	return badRequestError{err.Error()}
}

func (s *Server) doApprove(ctx context.Context, v *visit) (string, string, error) {
	name := v.request.PathValue("cluster")
	request, err := operate.WaitingFor(ctx, v.user.Hub, name, operate.RequestFilter{UID: types.UID(v.request.PostForm.Get("request"))})
	if err != nil {
		return "", "", waitingError(err)
	}
	if err := operate.Accept(ctx, v.user.Hub, request, v.user.Name, v.now); err != nil {
		return "", "", err
	}
	return fmt.Sprintf("You accepted cluster %s; the hub goes on with it.", name), joinPath(name), nil
}

// makesTokens is the right to invite a cluster: to create token Secrets.
func makesTokens() auth.Access {
	return auth.Access{Verb: "create", Resource: "secrets", Namespace: "kube-system"}
}
