package builtin

import (
	"math/big"
	"strings"
)

// kind is a physical quantity; only units of one kind convert into each other.
type kind string

const (
	kindLength      kind = "length"
	kindMass        kind = "mass"
	kindTemperature kind = "temperature"
	kindVolume      kind = "volume"
	kindSpeed       kind = "speed"
	kindTime        kind = "time"
	kindData        kind = "data"
	kindArea        kind = "area"
	kindEnergy      kind = "energy"
	kindPressure    kind = "pressure"
	kindPower       kind = "power"
)

// unit is one unit: value × factor + offset is the quantity in the base unit.
type unit struct {
	kind   kind
	symbol string // as it is written in an answer
	factor *big.Rat
	offset *big.Rat // nil for none
}

// unitTable lists the units: kind, factor to the base unit (exact by
// definition, as a decimal or a fraction), symbol, then further names. Names are
// compared in lower case, unless a name that differs in case only is another
// unit (Mb and MB).
var unitTable = []struct {
	kind   kind
	factor string
	names  string
}{
	// Length, in metres. Inch, foot, yard and mile: International yard and pound agreement, 1959.
	{kindLength, "1", "m|metre|metres|meter|meters|metern|метр|метра|метров|метрах|метры|米|公尺"},
	{kindLength, "1000", "km|kms|kilometre|kilometres|kilometer|kilometers|kilometern|км|километр|километра|километров|километрах|километры|公里|千米"},
	{kindLength, "0.1", "dm|decimetre|decimeter|dezimeter|дм|分米"},
	{kindLength, "0.01", "cm|centimetre|centimetres|centimeter|centimeters|zentimeter|zentimetern|см|сантиметр|сантиметра|сантиметров|сантиметрах|厘米|公分"},
	{kindLength, "0.001", "mm|millimetre|millimetres|millimeter|millimeters|millimetern|мм|миллиметр|миллиметра|миллиметров|миллиметрах|毫米"},
	{kindLength, "0.000001", "µm|um|μm|micron|microns|micrometre|micrometer|mikrometer|мкм|微米"},
	{kindLength, "0.000000001", "nm|nanometre|nanometer|nanometers|нм|纳米"},
	{kindLength, "0.0254", "in|inch|inches|\"|″|zoll|дюйм|дюйма|дюймов|дюймах|дюймы|英寸|吋"},
	{kindLength, "0.3048", "ft|foot|feet|'|′|fuß|fuss|фут|фута|футов|футах|футы|英尺|呎"},
	{kindLength, "0.9144", "yd|yard|yards|ярд|ярда|ярдов|ярдах|码"},
	{kindLength, "1609.344", "mi|mile|miles|meile|meilen|миля|мили|миль|милях|英里|哩"},
	{kindLength, "1852", "nmi|nautical mile|nautical miles|seemeile|seemeilen|морская миля|морских миль|морских милях|海里"},
	{kindLength, "9460730472580800", "ly|light year|light years|lightyear|lightyears|lichtjahr|lichtjahre|lichtjahren|световой год|световых лет|光年"},
	{kindLength, "149597870700", "au|astronomical unit|astronomical units|astronomische einheit|astronomische einheiten|天文单位"},
	// Mass, in kilograms.
	{kindMass, "1", "kg|kgs|kilo|kilos|kilogram|kilograms|kilogramm|кг|килограмм|килограмма|килограммов|килограммах|公斤|千克"},
	{kindMass, "0.001", "g|gram|grams|gramme|gramm|г|грамм|грамма|граммов|граммах|克"},
	{kindMass, "0.000001", "mg|milligram|milligrams|milligramm|мг|миллиграмм|毫克"},
	{kindMass, "0.000000001", "µg|ug|μg|mcg|microgram|micrograms|mikrogramm|мкг|微克"},
	{kindMass, "1000", "t|tonne|tonnes|metric ton|metric tons|tonnen|т|тонна|тонны|тонн|тоннах|吨"},
	{kindMass, "0.45359237", "lb|lbs|pound|pounds|фунт|фунта|фунтов|фунтах|磅"},
	{kindMass, "0.028349523125", "oz|ounce|ounces|unze|unzen|унция|унции|унций|унциях|盎司"},
	{kindMass, "6.35029318", "st|stone|stones|英石"},
	{kindMass, "907.18474", "short ton|short tons|us ton|us tons"},
	{kindMass, "0.5", "pfund|斤|市斤"},
	{kindMass, "0.0002", "ct|carat|carats|karat|карат|карата|каратов|克拉"},
	// Volume, in litres. US measures unless another is named.
	{kindVolume, "1", "l|litre|litres|liter|liters|litern|л|литр|литра|литров|литрах|升|公升"},
	{kindVolume, "0.001", "ml|millilitre|millilitres|milliliter|milliliters|cc|cm3|cm³|мл|миллилитр|миллилитра|миллилитров|毫升"},
	{kindVolume, "0.01", "cl|centilitre|centiliter|zentiliter"},
	{kindVolume, "0.1", "dl|decilitre|deciliter|deziliter"},
	{kindVolume, "1000", "m³|m3|cubic metre|cubic metres|cubic meter|cubic meters|kubikmeter|кубометр|кубических метров|立方米"},
	{kindVolume, "3.785411784", "gal|gallon|gallons|us gallon|us gallons|gallone|gallonen|галлон|галлона|галлонов|галлонах|加仑"},
	{kindVolume, "4.54609", "imperial gallon|imperial gallons|uk gallon|uk gallons"},
	{kindVolume, "0.946352946", "qt|quart|quarts|夸脱"},
	{kindVolume, "0.473176473", "pt|pint|pints|пинта|пинты|пинт|品脱"},
	{kindVolume, "0.2365882365", "cup|cups|杯"},
	{kindVolume, "0.0295735295625", "fl oz|floz|fluid ounce|fluid ounces|液量盎司"},
	{kindVolume, "0.01478676478125", "tbsp|tablespoon|tablespoons|汤匙"},
	{kindVolume, "0.00492892159375", "tsp|teaspoon|teaspoons|茶匙"},
	{kindVolume, "28.316846592", "ft³|ft3|cubic foot|cubic feet"},
	{kindVolume, "158.987294928", "bbl|barrel|barrels|баррель|барреля|баррелей|баррелях|桶"},
	// Speed, in metres a second.
	{kindSpeed, "1", "m/s|mps|meters per second|metres per second|meter pro sekunde|м/с|метров в секунду|米/秒|米每秒"},
	{kindSpeed, "1/3.6", "km/h|kmh|kph|kilometers per hour|kilometres per hour|stundenkilometer|kilometer pro stunde|км/ч|километров в час|公里/小时|千米/小时|公里每小时"},
	{kindSpeed, "0.44704", "mph|mi/h|miles per hour|meilen pro stunde|миль/ч|миль в час|英里/小时|英里每小时"},
	{kindSpeed, "1852/3600", "kn|kt|knot|knots|knoten|узел|узла|узлов|узлах|节"},
	{kindSpeed, "0.3048", "ft/s|fps|feet per second"},
	{kindSpeed, "299792458", "speed of light|lichtgeschwindigkeit|скорость света|光速"},
	// Time, in seconds. A year is the Julian one, a month its twelfth.
	{kindTime, "1", "s|sec|secs|second|seconds|sek|sekunde|sekunden|с|сек|секунда|секунды|секунд|секундах|秒|秒钟"},
	{kindTime, "0.001", "ms|millisecond|milliseconds|millisekunde|millisekunden|мс|миллисекунда|миллисекунд|毫秒"},
	{kindTime, "0.000001", "µs|us|μs|microsecond|microseconds|mikrosekunden|мкс|微秒"},
	{kindTime, "0.000000001", "ns|nanosecond|nanoseconds|nanosekunden|нс|纳秒"},
	{kindTime, "60", "min|mins|minute|minutes|minuten|мин|минута|минуты|минут|минутах|分钟|分"},
	{kindTime, "3600", "h|hr|hrs|hour|hours|std|stunde|stunden|ч|час|часа|часов|часах|часы|小时|钟头"},
	{kindTime, "86400", "d|day|days|tag|tage|tagen|день|дня|дней|днях|дни|сутки|суток|天|日"},
	{kindTime, "604800", "week|weeks|wk|wks|woche|wochen|неделя|недели|недель|неделях|周|星期|礼拜"},
	{kindTime, "2629800", "month|months|monat|monate|monaten|месяц|месяца|месяцев|месяцах|个月|月"},
	{kindTime, "31557600", "year|years|yr|yrs|jahr|jahre|jahren|год|года|лет|годах|годы|年"},
	// Data, in bits. k, M, G, T, P are powers of 1000; Ki, Mi, Gi, Ti, Pi of 1024 (IEC 80000-13).
	{kindData, "1", "bit|bits|b|бит|бита|битов|битах|比特|位"},
	{kindData, "1000", "kbit|kbits|Kb|kilobit|kilobits|кбит"},
	{kindData, "1000000", "Mbit|mbits|Mb|megabit|megabits|мбит|мегабит|兆比特"},
	{kindData, "1000000000", "Gbit|gbits|Gb|gigabit|gigabits|гбит|гигабит"},
	{kindData, "1000000000000", "Tbit|Tb|terabit|terabits"},
	{kindData, "8", "B|byte|bytes|байт|байта|байтов|байтах|字节"},
	{kindData, "8000", "kB|KB|kilobyte|kilobytes|кб|килобайт|килобайта|килобайтах|千字节"},
	{kindData, "8000000", "MB|megabyte|megabytes|мб|мегабайт|мегабайта|мегабайтах|兆字节|兆"},
	{kindData, "8000000000", "GB|gigabyte|gigabytes|гб|гигабайт|гигабайта|гигабайтах|吉字节"},
	{kindData, "8000000000000", "TB|terabyte|terabytes|тб|терабайт|терабайта|терабайтах|太字节"},
	{kindData, "8000000000000000", "PB|petabyte|petabytes|пб|петабайт"},
	{kindData, "8192", "KiB|kibibyte|kibibytes"},
	{kindData, "8388608", "MiB|mebibyte|mebibytes"},
	{kindData, "8589934592", "GiB|gibibyte|gibibytes"},
	{kindData, "8796093022208", "TiB|tebibyte|tebibytes"},
	{kindData, "9007199254740992", "PiB|pebibyte|pebibytes"},
	// Area, in square metres.
	{kindArea, "1", "m²|m2|sqm|square metre|square metres|square meter|square meters|quadratmeter|quadratmetern|кв м|м²|м2|квадратный метр|квадратных метров|квадратных метрах|平方米"},
	{kindArea, "1000000", "km²|km2|square kilometre|square kilometres|square kilometer|square kilometers|quadratkilometer|quadratkilometern|км²|км2|квадратных километров|平方公里|平方千米"},
	{kindArea, "0.0001", "cm²|cm2|square centimetre|square centimeter|quadratzentimeter|см²|平方厘米"},
	{kindArea, "10000", "ha|hectare|hectares|hektar|га|гектар|гектара|гектаров|гектарах|公顷"},
	{kindArea, "4046.8564224", "acre|acres|акр|акра|акров|акрах|英亩"},
	{kindArea, "0.09290304", "ft²|ft2|sqft|square foot|square feet|квадратных футов|平方英尺"},
	{kindArea, "0.00064516", "in²|in2|square inch|square inches"},
	{kindArea, "2589988.110336", "mi²|mi2|square mile|square miles|quadratmeilen|квадратных миль|平方英里"},
	{kindArea, "2000/3", "亩"},
	// Energy, in joules. A calorie is the thermochemical one.
	{kindEnergy, "1", "J|joule|joules|дж|джоуль|джоуля|джоулей|джоулях|焦耳|焦"},
	{kindEnergy, "1000", "kJ|kilojoule|kilojoules|кдж|килоджоуль|килоджоулей|килоджоулях|千焦"},
	{kindEnergy, "4.184", "cal|calorie|calories|kalorie|kalorien|кал|калория|калории|калорий|калориях|卡"},
	{kindEnergy, "4184", "kcal|kilocalorie|kilocalories|kilokalorie|kilokalorien|ккал|килокалорий|килокалориях|千卡|大卡"},
	{kindEnergy, "3600", "Wh|watt hour|watt hours|wattstunden|втч"},
	{kindEnergy, "3600000", "kWh|kilowatt hour|kilowatt hours|kilowattstunde|kilowattstunden|квтч|квт·ч|киловатт-часов|千瓦时|度电"},
	{kindEnergy, "1055.05585262", "BTU|btus"},
	// Pressure, in pascals.
	{kindPressure, "1", "Pa|pascal|pascals|па|паскаль|паскалей|паскалях|帕"},
	{kindPressure, "100", "hPa|hectopascal|hektopascal|mbar|millibar|гпа|百帕"},
	{kindPressure, "1000", "kPa|kilopascal|kilopascals|кпа|千帕"},
	{kindPressure, "1000000", "MPa|megapascal|мпа|兆帕"},
	{kindPressure, "100000", "bar|bars|бар|баров|барах|巴"},
	{kindPressure, "101325", "atm|atmosphere|atmospheres|atmosphäre|atmosphären|атм|атмосфера|атмосферы|атмосфер|атмосферах|标准大气压|大气压"},
	{kindPressure, "4.4482216152605/0.00064516", "psi"},
	{kindPressure, "101325/760", "torr|mmhg|мм рт ст|毫米汞柱"},
	// Power, in watts.
	{kindPower, "1", "W|watt|watts|вт|ватт|ватта|ваттах|瓦|瓦特"},
	{kindPower, "1000", "kW|kilowatt|kilowatts|квт|киловатт|киловатта|киловаттах|千瓦"},
	{kindPower, "1000000", "MW|megawatt|megawatts|мвт|мегаватт|兆瓦"},
	{kindPower, "745.69987158227022", "hp|horsepower|英制马力"},
	{kindPower, "735.49875", "PS|лс|л с|pferdestärken|лошадиная сила|лошадиных сил|лошадиных силах|马力"},
}

// temperatures need an offset: kelvin = value × factor + offset.
var temperatures = []struct{ factor, offset, names string }{
	{"1", "0", "K|kelvin|кельвин|кельвина|кельвинах|开尔文|开"},
	{"1", "273.15", "°C|c|celsius|degree celsius|degrees celsius|centigrade|grad celsius|grad|градус цельсия|градуса цельсия|градусов цельсия|градусах цельсия|цельсий|по цельсию|摄氏度|摄氏|度|℃|с°|°с"},
	{"5/9", "45967/180", "°F|f|fahrenheit|degree fahrenheit|degrees fahrenheit|grad fahrenheit|градус фаренгейта|градусов фаренгейта|градусах фаренгейта|фаренгейт|по фаренгейту|华氏度|华氏|℉"},
	{"5/9", "0", "°R|rankine"},
}

// units by name, as written and in lower case.
var units, unitsFolded = loadUnits()

func loadUnits() (exactCase, folded map[string]*unit) {
	exactCase, folded = map[string]*unit{}, map[string]*unit{}
	put := func(u *unit, names string) {
		for i, n := range strings.Split(names, "|") {
			if i == 0 {
				u.symbol = n
			}
			exactCase[n] = u
			low := strings.ToLower(n)
			// The later entry wins in lower case: "mb" is bytes, as people mean it.
			folded[low] = u
		}
	}
	for _, e := range unitTable {
		put(&unit{kind: e.kind, factor: ratio(e.factor)}, e.names)
	}
	for _, e := range temperatures {
		put(&unit{kind: kindTemperature, factor: ratio(e.factor), offset: ratio(e.offset)}, e.names)
	}
	return exactCase, folded
}

// ratio reads a decimal or a fraction of decimals from the tables above.
func ratio(s string) *big.Rat {
	num, den, isFraction := strings.Cut(s, "/")
	r, ok := new(big.Rat).SetString(num)
	if isFraction && ok {
		var d *big.Rat
		if d, ok = new(big.Rat).SetString(den); ok {
			r.Quo(r, d)
		}
	}
	if !ok {
		panic("unit table: " + s)
	}
	return r
}

// findUnit returns the unit with that name, or nil.
func findUnit(name string) *unit {
	name = strings.TrimSpace(name)
	if u := units[name]; u != nil {
		return u
	}
	name = strings.ToLower(strings.Join(strings.Fields(name), " "))
	if u := unitsFolded[name]; u != nil {
		return u
	}
	for _, prefix := range []string{"° ", "°", "deg ", "degrees ", "degree ", "grad "} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			if u := unitsFolded[rest]; u != nil && u.kind == kindTemperature {
				return u
			}
		}
	}
	return nil
}

// toBase and fromBase convert a value of a unit.
func (u *unit) toBase(v value) value {
	v = mul(v, value{rat: u.factor})
	if u.offset != nil {
		v = add(v, value{rat: u.offset})
	}
	return v
}

func (u *unit) fromBase(v value) value {
	if u.offset != nil {
		v = sub(v, value{rat: u.offset})
	}
	return mul(v, value{rat: new(big.Rat).Inv(u.factor)})
}
