package browser

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/page"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"fairlead.dev/test/cluster"
	"fairlead.dev/test/process"
	"fairlead.dev/test/showcase"
)

// chromium returns the browser of this machine.
func chromium(tb testing.TB) string {
	tb.Helper()
	if named := os.Getenv("CHROMIUM"); named != "" {
		return named
	}
	return cluster.Tool(tb, "chromium", "chromium-browser", "google-chrome")
}

// browser is a window without a session.
type browser struct {
	tb   testing.TB
	ctx  context.Context //nolint:containedctx // It is how chromedp names a window.
	show *showcase.Showcase

	mu       sync.Mutex
	problems []string
	foreign  []string
}

const (
	startTimeout = 90 * time.Second
	stepTimeout  = 2 * time.Minute
)

// open opens a new window for a test.
func open(tb testing.TB, show *showcase.Showcase) *browser {
	tb.Helper()
	options := append(chromedp.DefaultExecAllocatorOptions[:],
		chromedp.ExecPath(chromium(tb)), chromedp.NoSandbox, chromedp.DisableGPU,
		chromedp.Flag("ignore-certificate-errors", true), // the certificate is signed by the hub's own authority
		chromedp.WSURLReadTimeout(startTimeout), chromedp.WindowSize(desktop.width, desktop.height),
	)
	options = append(options, profile(tb)...)
	allocator, stop := chromedp.NewExecAllocator(tb.Context(), options...)
	tb.Cleanup(stop)
	ctx, closeWindow := chromedp.NewContext(allocator)
	tb.Cleanup(closeWindow)
	b := &browser{tb: tb, ctx: ctx, show: show}
	chromedp.ListenTarget(ctx, b.listen)
	if err := chromedp.Run(ctx, network.Enable(), log.Enable(), runtime.Enable()); err != nil {
		tb.Fatalf("starting chromium: %v", err)
	}
	tb.Cleanup(func() { b.clean() })
	return b
}

// profile returns options with a profile directory that is removed after the test: chromium's children write there for
// a moment after it was killed, which makes tb.TempDir fail.
func profile(tb testing.TB) []chromedp.ExecAllocatorOption {
	tb.Helper()
	dir, err := os.MkdirTemp("", "fairlead-chromium-") //nolint:usetesting // see above
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() {
		if err := process.Remove(dir); err != nil {
			tb.Error(err)
		}
	})
	return []chromedp.ExecAllocatorOption{chromedp.UserDataDir(dir), chromedp.Env("TMPDIR=" + dir)}
}

// listen records console messages and requests to other sites.
func (b *browser) listen(ev any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := ev.(type) {
	case *runtime.EventConsoleAPICalled:
		if e.Type == runtime.APITypeError || e.Type == runtime.APITypeWarning {
			var words []string
			for _, arg := range e.Args {
				words = append(words, string(arg.Value)+arg.Description)
			}
			b.problems = append(b.problems, "console: "+strings.Join(words, " "))
		}
	case *runtime.EventExceptionThrown:
		b.problems = append(b.problems, "exception: "+e.ExceptionDetails.Error())
	case *log.EventEntryAdded:
		if e.Entry.Level == log.LevelError || e.Entry.Level == log.LevelWarning {
			b.problems = append(b.problems, fmt.Sprintf("%s: %s (%s)", e.Entry.Source, e.Entry.Text, e.Entry.URL))
		}
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, b.show.URL) && !strings.HasPrefix(e.Request.URL, "data:") && !strings.HasPrefix(e.Request.URL, "chrome") && e.Request.URL != "about:blank" {
			b.foreign = append(b.foreign, e.Request.URL)
		}
	}
}

// clean fails the test if there were console messages since the last check, or requests to other sites.
func (b *browser) clean() {
	b.tb.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	defer func() { b.problems, b.foreign = nil, nil }()
	for _, p := range b.problems {
		b.tb.Errorf("the browser complains: %s", p)
	}
	for _, url := range b.foreign {
		b.tb.Errorf("the page loads from elsewhere: %s", url)
	}
}

// forgive drops the console messages so far, which the test has provoked.
func (b *browser) forgive() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.problems = nil
}

// do runs steps in the window, and fails the test if one does not finish.
func (b *browser) do(what string, actions ...chromedp.Action) {
	b.tb.Helper()
	ctx, cancel := context.WithTimeout(b.ctx, stepTimeout)
	defer cancel()
	if err := chromedp.Run(ctx, actions...); err != nil {
		var text string
		_ = chromedp.Run(b.ctx, chromedp.Evaluate(`location.href + "\n" + document.body.innerText.slice(0, 2000)`, &text))
		b.shot("failed")
		b.tb.Fatalf("%s: %v; the page is\n%s", what, err, text)
	}
}

// visit opens a path.
func (b *browser) visit(path string) {
	b.tb.Helper()
	b.do("loading "+path, chromedp.Navigate(b.show.URL+path), chromedp.WaitReady("body"))
}

// says waits until the page contains a text.
func (b *browser) says(text string) {
	b.tb.Helper()
	b.do("waiting for "+text, until(fmt.Sprintf("document.body.innerText.includes(%q)", text)))
}

// is evaluates an expression that must be true.
func (b *browser) is(what, expression string) {
	b.tb.Helper()
	b.do(what, until(expression))
}

// until polls an expression until it is true. Its own timeout, 30 s by default, is off: that of the step applies.
func until(expression string) chromedp.Action {
	return chromedp.Poll(expression, nil, chromedp.WithPollingInterval(50*time.Millisecond), chromedp.WithPollingTimeout(0))
}

// signIn signs in with a token.
func (b *browser) signIn(token string) {
	b.tb.Helper()
	b.visit("/signin")
	b.do("signing in", chromedp.SetValue("#token", token), chromedp.Submit("#token"), chromedp.WaitVisible("header.top"))
}

// screen is a screen size.
type screen struct {
	name          string
	width, height int
	dark          bool
}

var (
	desktop = screen{"desktop", 1320, 900, false}
	screens = []screen{desktop, {"desktop-dark", 1320, 900, true}, {"phone", 390, 844, false}, {"phone-dark", 390, 844, true}}
)

// on shows the page on a screen.
func (b *browser) on(s screen) {
	b.tb.Helper()
	scheme := "light"
	if s.dark {
		scheme = "dark"
	}
	b.do("turning to "+s.name,
		emulation.SetDeviceMetricsOverride(int64(s.width), int64(s.height), 1, s.width < 600),
		emulation.SetEmulatedMedia().WithFeatures([]*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}}))
}

// shots takes a screenshot of the whole page on every screen.
func (b *browser) shots(name string) {
	b.tb.Helper()
	for _, s := range screens {
		b.on(s)
		b.shot(name + "-" + s.name)
	}
	b.on(desktop)
}

func (b *browser) shot(name string) {
	b.tb.Helper()
	var png []byte
	err := chromedp.Run(b.ctx, chromedp.ActionFunc(func(ctx context.Context) error {
		_, _, _, _, _, full, err := page.GetLayoutMetrics().Do(ctx)
		if err != nil {
			return err
		}
		png, err = page.CaptureScreenshot().WithCaptureBeyondViewport(true).
			WithClip(&page.Viewport{Width: full.Width, Height: min(full.Height, 4000), Scale: 1}).Do(ctx)
		return err
	}))
	if err != nil {
		b.tb.Logf("no screenshot %s: %v", name, err)
		return
	}
	dir := filepath.Join("..", "..", "_artifacts", "dashboard")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		b.tb.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, name+".png"), png, 0o644); err != nil {
		b.tb.Fatal(err)
	}
}
