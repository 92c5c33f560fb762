package dashboard

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"

	"fairlead.dev/hub/people/pods"
	"fairlead.dev/hub/people/terminal"
)

// terminalView is the data of the page of a terminal.
type terminalView struct {
	CSRF, Path              string
	Cluster, Pod, Container string
	Command                 string
	Back                    string
}

// commandByDefault is the command of a terminal for which the person named none, and maxCommand the maximum length of a command in bytes.
const (
	commandByDefault = "sh"
	maxCommand       = 2000
)

// terminalPage is the page to run a command in a pod of an application. It runs nothing before the person confirms.
func (s *Server) terminalPage(ctx context.Context, v *visit) (*page, error) {
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return nil, err
	}
	cluster := v.text("cluster")
	if _, err := placesOf(a, cluster); err != nil || cluster == "" || !isName(v.text("pod")) {
		return nil, notFoundError{"This pod is not one of " + a.String() + "."}
	}
	p := podPage(a, "Terminal")
	back := podPath(a, "pods", cluster, "", "")
	p.heading.Actions = []link{{Text: "Pods", To: back}}
	p.fragments = []fragment{{id: "terminal", template: "terminal", still: true, data: terminalView{
		CSRF: v.session.CSRF, Path: appPath(a.Namespace, a.Binding) + "/terminal", Cluster: cluster, Pod: v.text("pod"),
		Container: v.text("container"), Command: commandByDefault, Back: back,
	}}}
	return p, nil
}

// A ticket lets the session that requested it open one terminal, once and within ticketLife. The request that opens a
// terminal cannot carry a form, and so no CSRF token.
const (
	ticketNote = "terminal/"
	ticketLife = 30 * time.Second
)

// ticket is the command that a terminal runs, and its container.
type ticket struct {
	Cluster, Namespace, Pod, Container string
	Words                              []string
}

// giveTicket creates a ticket for a terminal in a pod of an application.
func (s *Server) giveTicket(w http.ResponseWriter, r *http.Request, v *visit) {
	err := s.checkForm(r, v)
	var t ticket
	if err == nil {
		t, err = s.ticketFor(r.Context(), v)
	}
	var raw []byte
	if err == nil {
		raw, err = json.Marshal(t)
	}
	if err != nil {
		f := s.describeError(err, v.user)
		http.Error(w, f.Text, f.Code)
		return
	}
	secret := rand.Text()
	s.signIn.Sessions.AddNote(v.session, ticketNote+secret, string(raw), ticketLife)
	s.log.Info("Letting a user run a command in a member", "user", v.user.Name, "Cluster", t.Cluster, "Pod", t.Namespace+"/"+t.Pod, "container", t.Container)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusCreated)
	_, _ = fmt.Fprintf(w, "{\"path\":%q}\n", "/terminal/"+secret) // the client may be gone
}

// ticketFor checks, as the person, that the pod belongs to the application.
func (s *Server) ticketFor(ctx context.Context, v *visit) (ticket, error) {
	form := v.request.PostForm
	a, err := s.readApplication(ctx, v)
	if err != nil {
		return ticket{}, err
	}
	cluster, name, container := form.Get("cluster"), form.Get("pod"), form.Get("container")
	words := strings.Fields(form.Get("command"))
	if len(words) == 0 || len(form.Get("command")) > maxCommand {
		return ticket{}, badRequestError{"Say which command to run, such as sh."}
	}
	if _, err := placesOf(a, cluster); err != nil || cluster == "" {
		return ticket{}, notFoundError{a.String() + " is not in this cluster."}
	}
	app, err := s.workload(a)
	if err != nil {
		return ticket{}, err
	}
	members, err := membersOf(v)
	if err != nil {
		return ticket{}, err
	}
	leave, ok := s.memberReads.Acquire(v.user)
	if !ok {
		return ticket{}, errTooManyMemberReads
	}
	defer leave()
	found := members.FindIn(ctx, app, cluster)
	if found.Err() != nil {
		return ticket{}, found.Err()
	}
	for i := range found.Pods {
		p := &found.Pods[i]
		if p.Name != name {
			continue
		}
		if container == "" {
			container = p.Default
		}
		if _, ok := p.Container(container); !ok {
			return ticket{}, notFoundError{fmt.Sprintf("Pod %s has no container %q.", name, container)}
		}
		return ticket{Cluster: cluster, Namespace: p.Namespace, Pod: name, Container: container, Words: words}, nil
	}
	return ticket{}, notFoundError{"This pod is not one of " + a.String() + " any more."}
}

// openTerminal runs the command of a ticket in a terminal.
func (s *Server) openTerminal(w http.ResponseWriter, r *http.Request, v *visit) {
	if !terminal.SameOrigin(r, !s.Plain) {
		http.Error(w, "This request was made by another site, and is refused.", http.StatusForbidden)
		return
	}
	var t ticket
	raw := s.signIn.Sessions.TakeNote(v.session, ticketNote+r.PathValue("ticket"))
	if json.Unmarshal([]byte(raw), &t) != nil {
		http.Error(w, "This terminal was already opened, or was opened too late: start again.", http.StatusForbidden)
		return
	}
	leave, ok := s.enterPodStream(w, v)
	if !ok {
		return
	}
	defer leave()
	members, err := membersOf(v)
	if err != nil {
		s.serveError(w, r, v, err)
		return
	}
	terminal.Serve(w, r, terminal.Options{
		Secure: !s.Plain, Clock: s.clock,
		Alive: func() bool { return s.signIn.Alive(r.Context(), v.session) },
		Used:  func() { s.signIn.Sessions.Use(v.session) },
		Run: func(ctx context.Context, e terminal.Ends) string {
			err := members.Exec(ctx, pods.Command{
				Cluster: t.Cluster, Namespace: t.Namespace, Pod: t.Pod, Container: t.Container, Words: t.Words,
				In: e.In, Out: e.Out, TTY: true, Sizes: e.Sizes,
			})
			if status, ended := pods.ExitStatus(err); ended {
				return fmt.Sprintf("The command ended with status %d.", status)
			}
			if err != nil {
				return "It could not be run, or was cut off: " + pods.ErrorSentence(err) + "."
			}
			return "The command ended."
		},
	})
}
