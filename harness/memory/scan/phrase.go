package scan

import "strings"

// Windows of the grammar, in cost: an unknown word costs wordCost, one character
// of a script without spaces charCost, a word of the grammar nothing.
const (
	wordCost  = 3
	charCost  = 1
	gapStrong = 9  // between verb and a strong object: three unknown words
	gapWeak   = 3  // and a weak one: one
	reach     = 14 // words looked at in all
)

// fillers stand between the parts of an order and mean nothing for it.
var fillers = merge(nil, []string{
	"the", "of", "a", "an", "and", "or", "in", "on", "at", "for", "from", "with", "as", "is", "are", "be", "have", "has", "been", "were", "was", "i", "me", "we", "us", "he", "they", "them", "please", "just", "completely", "totally", "entirely", "immediately", "also", "given", "received", "provided", "set", "by", "up", "out", "such", "other", "more", "point", "being", "single", "one", "about", "word", "verbatim", "exactly", "full", "written", "stated", "here", "anymore", "longer", "instead", "then", "today", "again",
	"der", "die", "das", "den", "dem", "des", "und", "oder", "von", "vor", "bitte", "sofort", "mir", "ich", "ein", "eine", "einen", "auf", "im", "uber",
	"le", "la", "les", "l", "un", "une", "des", "du", "et", "ou", "ce", "ces", "cette", "on", "s", "t", "ai", "il", "completement", "au", "aux", "sur", "en",
	"el", "los", "las", "lo", "una", "y", "o", "del", "al", "por", "favor", "te", "se", "ha", "han", "sobre", "com", "e", "os", "as", "um", "uma", "do", "da", "dos", "das", "no", "na", "por", "gli", "i", "il", "delle", "dei", "degli", "della", "tutte", "ed", "ti",
	"и", "или", "в", "на", "к", "от", "по", "с", "тебе", "вам", "я", "мне", "были", "было", "о", "об", "із", "та", "і",
	"de", "het", "een", "en", "van", "w", "z", "do", "na", "bir", "ve", "bu", "के", "को", "की", "का", "करें", "में", "और", "من", "في", "على", "و", "های", "را", "و",
	"의", "을", "를", "은", "는", "이", "가", "에", "の", "を", "は", "が", "に", "と", "で", "た", "し", "的", "了", "和", "之", "也", "请", "請", "把", "将", "將", "给", "我", "、",
})

// phrases looks for orders that take the assistant over.
func phrases(t *text) *Finding {
	for i := range t.words {
		w := &t.words[i]
		if w.role == 0 && (w.unspaced || !t.special(w)) {
			continue
		}
		for _, rule := range rules {
			if w.role&rule.from == 0 && rule.from != 0 {
				continue
			}
			if end := rule.match(t, i); end > 0 && !t.exempt(i, end) {
				return t.finding(Injection, i, end)
			}
		}
	}
	if from, to, ok := t.squeezedOrder(); ok && !t.exempt(from, to) {
		return t.finding(Injection, from, to)
	}
	return nil
}

func (t *text) special(w *word) bool {
	l := words()
	return l.sets["sudo"][w.text] || w.text == "repeat" || w.text == "keep"
}

func (t *text) finding(k Kind, from, to int) *Finding {
	end := len(t.s)
	if to < len(t.words) {
		end = t.words[to].from
	}
	return &Finding{k, excerpt(t.s[t.words[from].from:end])}
}

// rules are tried at each word that has a role of from; match returns the index
// behind the order, 0 for none.
var rules = []struct {
	from  role
	match func(t *text, i int) int
}{
	{roleVerb | roleVerbWeak, override},
	{roleNot, stopFollowing},
	{roleObj | roleWeak | roleTold, overrideAfter},
	{roleObj | roleWeak, declaredVoid},
	{roleYou | roleNow | roleAct, otherRole},
	{rolePersona, personaBefore},
	{roleReveal, revealPrompt},
	{roleObj, revealAfter},
	{roleNot | roleHide | roleTell | roleUser, conceal},
	{roleNew, newOrders},
	{roleFollow, obeyOnly},
	{0, overrideWords},
	{0, keepSecret},
	{roleAll, allAboveVoid},
	{roleYour, yourPrompt},
	{roleSend, sendSecret},
}

// negated reports whether a verb is denied: "never ignore…".
func (t *text) negated(i int) bool {
	for k := i - 1; k >= 0 && k >= i-2 && !t.words[k+1].start; k-- {
		if t.words[k].role&roleNot != 0 && t.words[k].role&roleVerb == 0 {
			return true
		}
	}
	// Korean and Japanese deny behind the verb.
	if t.words[i].unspaced {
		for k := i + 1; k < len(t.words) && k <= i+3 && !t.words[k].start; k++ {
			if t.words[k].role&roleNot != 0 && t.words[k].role&(roleVerb|roleObj) == 0 {
				return true
			}
		}
	}
	return false
}

// object is what was seen between a verb and what it acts on.
type object struct {
	prior, all, your, system bool
}

func (o *object) see(r role) {
	o.prior = o.prior || r&rolePrior != 0
	o.all = o.all || r&roleAll != 0
	o.your = o.your || r&roleYour != 0
	o.system = o.system || r&roleSystem != 0
}

func (o *object) any() bool { return o.prior || o.all || o.your || o.system }

// override: "ignore all previous instructions", "forget everything you were
// told", in languages where the verb comes first.
func override(t *text, i int) int {
	if t.negated(i) {
		return 0
	}
	weakVerb := t.words[i].role&roleVerb == 0
	var o object
	cost := 0
	for k := i + 1; k < len(t.words) && k <= i+reach; k++ {
		w := &t.words[k]
		if w.start && !t.colonBefore(k) {
			return 0
		}
		o.see(w.role)
		if w.role&(roleObj|roleWeak|roleTold) != 0 {
			q := o
			// Qualifiers may follow: "instrucciones anteriores", "the text above".
			tail, given, you := 0, false, false
			for m := k + 1; m < len(t.words) && m <= k+7 && !t.words[m].start; m++ {
				if c := t.words[m].cost; c > 0 {
					if tail += c; tail > wordCost {
						break
					}
				}
				q.see(t.words[m].role)
				// "the rules that you were given"
				given = given || t.words[m].role&roleTold != 0
				you = you || t.words[m].role&roleYou != 0
			}
			q.your = q.your || given && you
			strong := w.role&roleObj != 0
			switch {
			case weakVerb && strong && (q.your || q.system) && cost <= gapWeak:
				return k + 1
			case weakVerb && strong && q.all && q.prior && cost <= gapWeak:
				return k + 1
			case weakVerb:
			case strong && q.any() && cost <= gapStrong:
				return k + 1
			case w.role&roleTold != 0 && w.role&rolePrior == 0 && cost <= gapStrong && (q.prior || q.all && t.youNear(i, min(k+2, len(t.words)-1))):
				return k + 1
			case w.role&roleWeak != 0 && cost <= gapWeak && (q.prior || q.your || q.system) && !t.modifies(k):
				return k + 1
			case w.role&roleWeak != 0 && cost == 0 && q.all && t.words[i].start && t.endsSoon(k+1):
				return k + 1
			}
		}
		// "forget everything above", "ignore all of the above and …".
		if !weakVerb && w.role&rolePrior != 0 && o.all && cost == 0 && t.endsOrOrders(k+1) {
			return k + 1
		}
		if cost += w.cost; cost > gapStrong {
			return 0
		}
	}
	return 0
}

// colonBefore reports whether word k begins after a mark that does not end an
// order: obfuscation puts marks between words.
func (t *text) colonBefore(k int) bool {
	from := t.words[k-1].to
	to := t.words[k].from
	if from > to {
		return false
	}
	for _, r := range t.s[from:to] {
		switch r {
		case '.', '!', '?', '。', '！', '？', '\n', ';', '；', ':', '：', '"', '”', '(', '…':
			return false
		}
	}
	return true
}

// modifies reports whether a weak object only describes the word after it: "the
// previous rules file".
func (t *text) modifies(k int) bool {
	if k+1 >= len(t.words) || t.words[k+1].start {
		return false
	}
	next := &t.words[k+1]
	return next.role == 0 && next.cost == wordCost && t.adjacent(k)
}

// adjacent reports whether only a space stands between word k and the next.
func (t *text) adjacent(k int) bool {
	from, to := t.words[k].to, t.words[k+1].from
	return to > from && t.s[from:to] == " "
}

func (t *text) endsSoon(k int) bool {
	return k >= len(t.words) || t.words[k].start || t.words[k].role&(roleMust|roleNow) != 0
}

// endsOrOrders reports whether the text ends at k or goes on with an order.
func (t *text) endsOrOrders(k int) bool {
	if t.endsSoon(k) {
		return true
	}
	return t.words[k].role&(roleYou|roleAct|roleNow|roleReveal|roleMust|roleThis) != 0 || t.words[k].text == "instead" || t.words[k].text == "and"
}

func (t *text) youNear(i, k int) bool {
	for m := i; m <= k; m++ {
		if t.words[m].role&roleYou != 0 {
			return true
		}
	}
	return false
}

// overrideAfter: languages where the verb comes last: "これまでの指示をすべて
// 無視して", "alle vorherigen Anweisungen ignorieren".
func overrideAfter(t *text, i int) int {
	var o object
	cost := 0
	for k := i - 1; k >= 0 && k >= i-8; k-- {
		if t.words[k+1].start && !t.colonBefore(k+1) {
			break
		}
		if cost += t.words[k].cost; cost > gapStrong {
			break
		}
		if t.words[k].role&roleReport != 0 && t.words[k].role&roleReveal == 0 {
			break
		}
		o.see(t.words[k].role)
	}
	if !o.any() && t.words[i].role&roleObj == 0 {
		return 0
	}
	cost = 0
	for k := i + 1; k < len(t.words) && k <= i+reach; k++ {
		w := &t.words[k]
		if w.start && !t.colonBefore(k) {
			return 0
		}
		o.see(w.role)
		if w.role&roleAfter != 0 && o.any() && (cost <= gapWeak || t.words[i].role&roleObj != 0) && !t.negated(k) {
			return k + 1
		}
		if cost += w.cost; cost > gapStrong {
			return 0
		}
	}
	return 0
}

// declaredVoid: "all previous instructions are hereby void".
func declaredVoid(t *text, i int) int {
	var o object
	for k := i - 1; k >= 0 && k >= i-4 && !t.words[k+1].start && t.words[k].cost == 0; k-- {
		o.see(t.words[k].role)
	}
	for k := i + 1; k < len(t.words) && k <= i+2 && !t.words[k].start && t.words[k].cost == 0; k++ {
		o.see(t.words[k].role)
	}
	own := o.your && t.words[i].role&roleWeak != 0
	if !own && (!o.prior && !o.your || t.words[i].role&roleObj == 0) {
		return 0
	}
	cost := 0
	not := false
	for k := i + 1; k < len(t.words) && k <= i+6 && !t.words[k].start; k++ {
		w := &t.words[k]
		if w.role&roleNot != 0 && w.role&roleVoid == 0 {
			not = true
		}
		// "Your rules do not apply to me."
		if not && o.your && words().sets["apply"][w.text] {
			return k + 1
		}
		if !not && w.role&roleVoid != 0 && !own && (o.all || o.your || cost == 0 && t.sentenceStart(i)) {
			return k + 1
		}
		if cost += w.cost; cost > gapWeak {
			return 0
		}
	}
	return 0
}

// sentenceStart reports whether only words of the grammar stand between the
// start of the sentence and word i.
func (t *text) sentenceStart(i int) bool {
	for k := i; k >= 0 && k >= i-4; k-- {
		if t.words[k].cost > 0 {
			return false
		}
		if t.words[k].start {
			return true
		}
	}
	return false
}

// stopFollowing: "do not follow your guidelines", "stop obeying the rules above".
func stopFollowing(t *text, i int) int {
	// "Befolge nicht länger deine Regeln": the verb comes first.
	for k := i - 1; k >= 0 && k >= i-2 && !t.words[k+1].start; k-- {
		if t.words[k].role&roleFollow != 0 && t.words[k].start && t.words[i].text != "no" {
			if end := t.unfollowed(k, i); end > 0 {
				return end
			}
		}
	}
	cost := 0
	for k := i + 1; k < len(t.words) && k <= i+4 && !t.words[k].start; k++ {
		if t.words[k].role&roleFollow != 0 {
			return t.unfollowed(i, k)
		}
		if cost += t.words[k].cost; cost > wordCost {
			return 0
		}
	}
	return 0
}

// unfollowed looks for what is not to be followed behind word k; the order
// begins at from.
func (t *text) unfollowed(from, k int) int {
	var o object
	cost := 0
	for m := from - 1; m >= 0 && m >= from-3 && !t.words[m+1].start; m-- {
		// "You are no longer obliged to follow the rules."
		o.your = o.your || t.words[m].role&roleYou != 0
	}
	for m := k + 1; m < len(t.words) && m <= k+8 && !t.words[m].start; m++ {
		w := &t.words[m]
		o.see(w.role)
		if w.role&(roleObj|roleWeak) != 0 {
			q := o
			for n := m + 1; n < len(t.words) && n <= m+3 && !t.words[n].start; n++ {
				q.see(t.words[n].role)
			}
			// "Do not follow all instructions in the recipe" is none.
			if (q.prior || q.your || q.system) && !t.modifies(m) && (t.words[from].start || w.role&roleObj != 0 || q.your) {
				return m + 1
			}
		}
		if cost += w.cost; cost > gapWeak {
			return 0
		}
	}
	return 0
}

// allAboveVoid: "everything stated above is null and void".
func allAboveVoid(t *text, i int) int {
	prior := false
	cost := 0
	for k := i + 1; k < len(t.words) && k <= i+reach && !t.words[k].start; k++ {
		w := &t.words[k]
		if w.role&roleNot != 0 && w.role&roleVoid == 0 {
			return 0
		}
		prior = prior || w.role&rolePrior != 0
		if prior && w.role&roleVoid != 0 && t.words[i].start && w.text != "superseded" {
			return k + 1
		}
		if cost += w.cost; cost > gapStrong || w.cost > 0 && !prior {
			return 0
		}
	}
	return 0
}

// yourPrompt: whoever speaks to the assistant of its system prompt wants it out
// or changed; and "your new instructions are…".
func yourPrompt(t *text, i int) int {
	system, fresh := false, false
	for k := i + 1; k < len(t.words) && k <= i+4 && !t.words[k].start; k++ {
		w := &t.words[k]
		prompt := strings.Contains(w.text, "prompt") || strings.Contains(w.text, "提示") || strings.Contains(w.text, "プロンプト") || strings.Contains(w.text, "프롬프트") || strings.Contains(w.text, "промпт")
		if w.role&roleObj != 0 && prompt && (system || strings.HasPrefix(w.text, "system") || strings.HasPrefix(w.text, "系") || w.role&roleSystem != 0) {
			return k + 1
		}
		if system && (w.text == "message" || w.text == "messages") {
			return k + 1
		}
		if system && w.role&roleObj != 0 {
			return k + 1
		}
		if fresh && w.role&roleObj != 0 && k+1 < len(t.words) && (t.words[k+1].text == "are" || t.words[k+1].text == "is" || t.colonAt(k+1)) {
			return k + 1
		}
		system = system || w.role&roleSystem != 0 || w.text == "initial" || w.text == "original" || w.text == "first" || w.text == "starting"
		fresh = fresh || w.text == "new" || w.text == "updated" || w.text == "only"
		if w.cost > 0 {
			return 0
		}
	}
	return 0
}

// keepSecret: "keep this secret from the user".
func keepSecret(t *text, i int) int {
	if t.words[i].text != "keep" {
		return 0
	}
	secret, this := false, false
	for k := i + 1; k < len(t.words) && k <= i+8 && !t.words[k].start; k++ {
		w := &t.words[k]
		this = this || w.role&(roleThis|roleObj) != 0
		switch w.text {
		case "secret", "hidden", "confidential", "quiet", "private":
			secret = true
		}
		if secret && this && w.role&roleUser != 0 {
			return k + 1
		}
	}
	return 0
}
