"""The words of which the columns of held.py are made.

In many lists, the frequent words come first.  No list is the same as one of words.py.
"""


def listed(text: str, mark: str = ",") -> list[str]:
    """Return the entries of a list that is written as one text."""
    return [entry for entry in (" ".join(part.split()) for part in text.split(mark)) if entry]


# --- Arabic ----------------------------------------------------------------

ARABIC_FIRST_NAMES = """محمد أحمد علي حسن حسين محمود إبراهيم يوسف خالد عمر مصطفى عبدالله عبدالرحمن سعيد طارق كريم سامي ماجد فهد سلطان
ناصر بدر فيصل تركي وليد هشام أيمن عماد زياد رامي بلال أنس حمزة ياسين إسماعيل موسى عيسى صالح جمال كمال نبيل عادل فؤاد منصور راشد
فاطمة عائشة مريم خديجة زينب سارة نورة هدى سلمى ليلى منى أمل رنا دينا ريم لينا هبة إيمان نادية سعاد سميرة رانيا غادة جميلة وفاء نجلاء
حنان سحر شيماء آية أسماء رحاب ندى لمى جواهر العنود بسمة عبير""".split()

ARABIC_LAST_NAMES = """الأحمد العلي الحسن المصري الشامي البغدادي الحلبي التميمي القحطاني الغامدي الزهراني العتيبي الحربي الشمري الدوسري
المطيري العنزي السبيعي القرشي الهاشمي الأنصاري النجار الحداد الخطيب الصباغ الخياط العطار البنا الطحان القاضي الإمام السيد عبدالعزيز
عبدالقادر عبدالحميد منصور سليمان داود إسماعيل الكردي التركي المغربي التونسي الجزائري السوداني اليماني العراقي الفلسطيني الأردني الكويتي
البكري العمري الفاروق الراشد السالم الصالح الناصر الجابر المالكي الشافعي حداد خوري صليبا عازار رزق شاهين عوض حجازي شلبي زكي فهمي""".split()

ARABIC_CITIES = """القاهرة الرياض بغداد الإسكندرية جدة دمشق عمّان بيروت الدوحة دبي أبوظبي مسقط الكويت المنامة تونس الجزائر الرباط
مراكش طرابلس الخرطوم صنعاء عدن البصرة الموصل حلب حمص نابلس رام‌الله الشارقة الدمام""".split()

ARABIC_THINGS = """الطلب الفاتورة الشحنة العقد الموعد التقرير الجهاز الحساب الاشتراك الملف البطاقة السيارة الشقة الهاتف الحاسوب الطابعة
المفتاح العرض الدفعة المبلغ الاجتماع المشروع الوثيقة الرسالة الصورة الرخصة الضمان الصيانة التأمين التذكرة الحجز الغرفة الكتاب الدواء""".split()

ARABIC_SENTENCES = """تم استلام {thing} وسيتم الرد خلال {n} أيام|يرجى التواصل مع {name} بخصوص {thing}|تأخر وصول {thing} إلى {city} بسبب الأحوال الجوية|
تم إلغاء {thing} بناءً على طلب العميل|لم نتمكن من الوصول إلى العنوان في {city}|طلب العميل {name} تغيير موعد {thing} إلى يوم {day}|
وصل {thing} سليمًا والعميل راضٍ عن الخدمة|تم تحويل {thing} إلى قسم المبيعات|المبلغ المتبقي {n} دينار ويجب سداده قبل يوم {day}|
الرجاء مراجعة {thing} قبل نهاية الأسبوع|{name} غير موجود حاليًا وسيتصل لاحقًا|تم إصلاح {thing} واستبدال القطعة التالفة|هل يمكن توصيل {thing} إلى {city} يوم {day}؟|
شكرًا على سرعة الاستجابة|المنتج ممتاز والسعر مناسب|لا أنصح بالشراء من هذا المتجر|الخدمة بطيئة جدًا ولم أحصل على رد|سيتم إغلاق {thing} يوم {day} عند الساعة {n}|
تم تجديد {thing} لمدة سنة كاملة|نحتاج إلى توقيع {name} على {thing}|رقم {thing} هو {n} ويرجى ذكره عند الاتصال|تمت الموافقة على {thing} من قبل الإدارة|
رفض القسم المالي {thing} لعدم اكتمال البيانات|يعمل {name} في فرع {city} منذ {n} سنوات|اجتماع مع {name} في {city} يوم {day}|الغرفة نظيفة والموظفون ودودون|
نسي العميل {thing} في المكتب|سنرسل {thing} بالبريد غدًا صباحًا|تم تسجيل شكوى من {name} حول {thing}|كل شيء على ما يرام"""
ARABIC_SENTENCES = listed(ARABIC_SENTENCES, "|")
# Sentences that are put together of parts
ARABIC_VERBS = listed(
    """تم استلام,تم إرسال,تم إلغاء,تم تأجيل,تمت مراجعة,نحتاج إلى,نبحث عن,لم نجد,لا نملك,سنغير,سنرسل,يمكن شراء,يجب دفع,يجب توقيع,طلب المدير,
رفض العميل,قبل الزبون,نسينا,فقدنا,وجدنا,اشترينا,بعنا,سلّمنا,أعدنا,فحصنا,سجّلنا,طبعنا,ترجمنا,صوّرنا,حفظنا"""
)
ARABIC_ADJECTIVES = """الجديد القديم الكبير الصغير الأخير الأول الثاني السريع البطيء المهم العاجل الناقص الكامل الصحيح الخاطئ المجاني الغالي الرخيص
السنوي الشهري اليومي الأصلي المؤقت الخاص العام""".split()
ARABIC_TIMES = listed(
    """هذا الصباح,مساء أمس,قبل الظهر,بعد العصر,خلال الأسبوع القادم,في نهاية الشهر,منذ يومين,قبل ساعة,في الموعد المحدد,بدون تأخير,غدًا إن شاء الله,
في بداية العام,بعد العطلة,قبل العيد,في أقرب وقت,حتى إشعار آخر,طوال الليل,مرة أخرى,للمرة الثالثة,كالعادة"""
)
ARABIC_REASONS = listed(
    """لأن العنوان غير صحيح,لأن المخزن فارغ,بسبب ازدحام الطريق,بسبب عطل في النظام,بعد موافقة الإدارة,رغم شكوى العميل,حسب الاتفاق السابق,
مع الشكر والتقدير,دون أي تكلفة إضافية,مقابل رسوم بسيطة,لأسباب أمنية,بناءً على رغبته,حرصًا على سلامتكم,لضمان الجودة,بالتعاون مع شركة النقل"""
)
ARABIC_DAYS = "السبت الأحد الاثنين الثلاثاء الأربعاء الخميس الجمعة".split()

# --- Hindi -----------------------------------------------------------------

HINDI_FIRST_NAMES = """राजेश सुनील अमित संजय विजय राहुल अनिल मनोज रमेश सुरेश प्रकाश दीपक अशोक विनोद राकेश मुकेश पंकज नरेश महेश दिनेश
अजय रवि मोहन गोपाल कृष्ण अर्जुन आदित्य रोहित विकास विशाल नितिन सचिन हरीश योगेश किशोर सुनीता अनीता पूजा प्रिया नेहा रेखा सीमा कविता
गीता मीना राधा लक्ष्मी सरिता ममता आशा उषा पूनम ज्योति किरण शीला मधु रीता स्वाति अंजलि दिव्या श्रुति मनीषा वंदना नीलम शालिनी""".split()

HINDI_LAST_NAMES = """शर्मा वर्मा गुप्ता सिंह कुमार यादव पटेल मिश्रा पांडेय तिवारी द्विवेदी चतुर्वेदी त्रिपाठी श्रीवास्तव सक्सेना अग्रवाल जैन मेहता शाह जोशी
भट्ट नायर रेड्डी राव अय्यर चौधरी चौहान राठौर ठाकुर सोनी माथुर कपूर खन्ना मल्होत्रा अरोड़ा भाटिया बंसल गर्ग मित्तल सिन्हा प्रसाद झा ओझा दुबे शुक्ला
बाजपेयी देशमुख कुलकर्णी पाटिल गायकवाड़ जाधव शिंदे मौर्य कुशवाहा प्रजापति विश्वकर्मा सेन दास बोस घोष""".split()

HINDI_CITIES = """दिल्ली मुंबई कोलकाता चेन्नई बेंगलुरु हैदराबाद अहमदाबाद पुणे जयपुर लखनऊ कानपुर नागपुर इंदौर भोपाल पटना वडोदरा आगरा नासिक
वाराणसी मेरठ रांची प्रयागराज ग्वालियर जबलपुर रायपुर कोटा चंडीगढ़ देहरादून गुवाहाटी सूरत""".split()

HINDI_THINGS = """ऑर्डर बिल सामान दस्तावेज़ भुगतान खाता आवेदन टिकट पार्सल फ़ोन कंप्यूटर गाड़ी मकान कमरा पत्र रिपोर्ट बैठक परियोजना अनुबंध बीमा
दवा किताब तस्वीर चाबी मशीन पंखा फ़्रिज कूरियर चेक रसीद प्रमाणपत्र पासबुक कनेक्शन मीटर सिलेंडर राशन""".split()

HINDI_SENTENCES = """{thing} मिल गया है और {n} दिन में जवाब दिया जाएगा|कृपया {thing} के बारे में {name} से संपर्क करें|{thing} को {city} पहुँचने में देर हो गई|
ग्राहक के अनुरोध पर {thing} रद्द कर दिया गया|{city} में पता नहीं मिल सका|{name} ने {thing} की तारीख {day} तक बदलने को कहा है|{thing} सही हालत में पहुँचा, ग्राहक संतुष्ट है|
{thing} बिक्री विभाग को भेज दिया गया है|{n} रुपये बाकी हैं, {day} से पहले जमा करें|कृपया सप्ताह के अंत से पहले {thing} की जाँच करें|{name} अभी उपलब्ध नहीं हैं, बाद में फ़ोन करेंगे|
{thing} की मरम्मत हो गई और खराब पुर्ज़ा बदल दिया गया|क्या {thing} {day} को {city} भेजा जा सकता है?|जल्दी जवाब देने के लिए धन्यवाद|उत्पाद बहुत अच्छा है और कीमत ठीक है|
इस दुकान से ख़रीदने की सलाह नहीं दूँगा|सेवा बहुत धीमी है और कोई जवाब नहीं मिला|{thing} {day} को {n} बजे बंद रहेगा|{thing} एक साल के लिए बढ़ा दिया गया|
{thing} पर {name} के हस्ताक्षर चाहिए|{thing} का नंबर {n} है, फ़ोन करते समय बताएँ|प्रबंधन ने {thing} को मंज़ूरी दे दी|अधूरी जानकारी के कारण {thing} अस्वीकार हुआ|
{name} {city} शाखा में {n} साल से काम कर रहे हैं|{day} को {city} में {name} के साथ बैठक|कमरा साफ़ था और कर्मचारी मददगार थे|ग्राहक अपना {thing} दफ़्तर में भूल गया|
हम कल सुबह {thing} डाक से भेजेंगे|{name} ने {thing} के बारे में शिकायत दर्ज की है|सब कुछ ठीक है"""
HINDI_SENTENCES = listed(HINDI_SENTENCES, "|")
HINDI_VERBS = listed(
    """मिल गया,भेज दिया,रद्द कर दिया,टाल दिया,जाँच लिया,चाहिए,नहीं मिला,बदलना होगा,ख़रीदना है,बेच दिया,लौटा दिया,खो गया,मिल जाएगा,तैयार नहीं है,
पहुँच चुका है,दर्ज कर लिया,छापना बाकी है,देखना पड़ेगा,माँगा गया है,ठीक कर दिया,पसंद नहीं आया,अच्छा लगा,टूट गया,साफ़ करवाया,जमा कर दिया,वापस चाहिए"""
)
HINDI_ADJECTIVES = """नया पुराना बड़ा छोटा पहला दूसरा आख़िरी ज़रूरी अधूरा पूरा सही ग़लत मुफ़्त महँगा सस्ता सालाना मासिक रोज़ का असली अस्थायी निजी सरकारी
लाल हरा नीला सफ़ेद""".split()
HINDI_TIMES = listed(
    """आज सुबह,कल शाम,दोपहर से पहले,अगले हफ़्ते,महीने के अंत में,दो दिन पहले,एक घंटे में,तय समय पर,बिना देरी के,परसों,साल की शुरुआत में,
छुट्टी के बाद,त्योहार से पहले,जल्द से जल्द,अगली सूचना तक,रात भर,दोबारा,तीसरी बार,हमेशा की तरह,अभी अभी"""
)
HINDI_REASONS = listed(
    """क्योंकि पता ग़लत था,क्योंकि गोदाम ख़ाली है,ट्रैफ़िक की वजह से,सिस्टम में ख़राबी के कारण,प्रबंधक की अनुमति के बाद,ग्राहक की शिकायत के बावजूद,
पिछले समझौते के अनुसार,धन्यवाद सहित,बिना किसी अतिरिक्त शुल्क के,मामूली शुल्क पर,सुरक्षा कारणों से,उनकी इच्छा के अनुसार,गुणवत्ता के लिए,
परिवहन कंपनी की मदद से,बारिश के कारण"""
)
HINDI_DAYS = "सोमवार मंगलवार बुधवार गुरुवार शुक्रवार शनिवार रविवार".split()

# --- names of people, companies and places ----------------------------------

GIVEN_NAMES = """anna lukas marie jonas sofia matteo giulia pablo lucia carlos ines joao beatriz piotr katarzyna jan zuzana tomas eva lars ingrid
erik astrid mikko aino henrik freja noor daan femke bram emre zeynep murat elif kenji yuki hana minh linh arjun priya ravi meera omar layla
yusuf amina kwame ama chinedu ngozi thabo lerato oliver isla callum niamh sean aoife rhys carys gareth diego valentina mateo camila""".split()

FAMILY_NAMES = """novak kowalski horvat nagy kovacs ivanov popescu rossi ferrari bianchi romano moretti silva santos oliveira pereira fernandes
mueller schulze lange kaiser vogel seidel brandt lorenz jansen devries bakker visser andersson karlsson nilsson hansen olsen larsen virtanen
korhonen makinen yilmaz demir kaya tanaka suzuki nguyen tran patel khan hussain mensah okafor dlamini nkosi murphy byrne walsh campbell
stewart evans griffiths castro rojas vargas molina herrera""".split()

COMPANIES = """acorn beacon cobalt delta ember falcon granite harbor indigo juniper keystone lantern meridian nimbus orchard pioneer quartz
raven summit tundra umber vertex willow xenon yonder zenith alpine borealis cascade driftwood""".split()
COMPANY_KINDS = "labs systems media logistics health foods energy capital studio works data cloud retail travel".split()
DOMAINS = "com com com net org io de co.uk fr nl eu se pl it es ch at app dev ai".split()
FREE_MAIL = "gmail.com gmail.com outlook.com yahoo.com icloud.com hotmail.com gmx.de web.de proton.me free.fr libero.it wp.pl mail.ru qq.com".split()

GERMAN_STREETS = """Haupt Bahnhof Schul Garten Dorf Berg Linden Kirch Wald Ring Bach Schiller Goethe Mühlen Wiesen Rosen Birken Eichen
Feld Friedrich Luisen Ahorn Brunnen Park See Hafen Markt Sonnen Tannen Kastanien Beethoven Mozart Kant Hohenzollern Wilhelm""".split()
GERMAN_STREET_KINDS = "straße straße straße weg weg platz allee gasse ring".split()
GERMAN_TOWNS = listed(
    """Berlin,Hamburg,München,Köln,Frankfurt am Main,Stuttgart,Düsseldorf,Leipzig,Dortmund,Essen,Bremen,Dresden,Hannover,Nürnberg,Duisburg,
Bochum,Wuppertal,Bielefeld,Bonn,Münster,Mannheim,Karlsruhe,Augsburg,Wiesbaden,Kiel,Aachen,Halle (Saale),Magdeburg,Freiburg im Breisgau,Lübeck,
Erfurt,Rostock,Mainz,Kassel,Saarbrücken,Potsdam,Oldenburg,Osnabrück,Heidelberg,Darmstadt,Regensburg,Würzburg,Göttingen,Ulm,Trier,Jena"""
)

# --- web -------------------------------------------------------------------

PATH_PARTS = """catalog items basket account profile settings orders invoices help faq news articles topics events tickets venues artists
recipes courses lessons videos podcasts episodes downloads docs guides forum threads users groups messages reviews wishlist compare brands
offers stores careers press legal imprint newsletter signup signin reset verify""".split()
PATH_WORDS = """garden bicycle winter summer kitchen travel music festival market harvest coffee bread cheese river mountain island harbor
castle museum theatre library school science history nature animal flower forest ocean sailing camping hiking running climbing painting pottery
knitting carpentry lighting heating solar battery engine bridge railway airport hotel hostel budget luxury family children vintage modern
classic digital mobile wireless portable organic vegan seasonal regional""".split()
SITES = "www.lindenhof-shop.de www.harborview.org blog.tundra-media.io www.orchardfoods.co.uk shop.vertex-retail.eu www.meridian-travel.fr".split()
SEARCHES = listed(
    "https://www.google.com/,https://www.google.de/,https://www.bing.com/,https://duckduckgo.com/,https://www.ecosia.org/,"
    "https://search.brave.com/,https://l.instagram.com/,https://www.linkedin.com/,https://news.ycombinator.com/"
)
PHONES = """SM-G991B SM-A515F SM-S911B SM-A346B SM-G781B SM-S928B SM-A137F Pixel_6 Pixel_7 Pixel_7a Pixel_8_Pro Pixel_9 CPH2451 CPH2609
M2101K6G 2201117TY 23021RAAEG 23106RN0DA RMX3630 RMX3771 V2206 V2250 moto_g_power moto_g54_5G ONEPLUS_A6003 LE2113 XQ-CC54 ASUS_AI2202
Nokia_G21 FP4 ELE-L29 VOG-L29 JNY-LX1""".split()
BUILDS = "QP1A.190711.020 RP1A.200720.012 SP1A.210812.016 TP1A.220624.014 TQ3A.230805.001 UP1A.231005.007 UQ1A.240205.002 AP2A.240805.005 AP3A.240905.015".split()

# Major versions of Chrome with the third number of a version
CHROMES = """112.5615 113.5672 114.5735 115.5790 116.5845 117.5938 118.5993 119.6045 120.6099 121.6167 122.6261 123.6312 124.6367 125.6422
126.6478 127.6533 128.6613 129.6668 130.6723 131.6778 132.6834 133.6943 134.6998 135.7049 136.7103 137.7151""".split()

# --- services --------------------------------------------------------------

SERVICES = "billing checkout catalog search inventory shipping notification identity profile recommendation payment ledger fraud media reporting".split()
ENVIRONMENTS = "prod prod prod prod staging dev test".split()
SITES_OF_HOSTS = "fra1 ams3 lon1 nyc2 sfo3 sgp1 tok1 syd1 eu-central-1 eu-west-1 us-east-1 us-west-2 ap-south-1".split()
HOST_KINDS = "web app db cache queue worker proxy mail search build monitor gateway node".split()

OBJECTS = """order payment shipment invoice refund subscription account document import export job upload delivery contract ticket task claim
application verification backup deployment migration""".split()
STATES = """pending active completed failed cancelled queued running paused expired rejected approved waiting scheduled archived suspended
processing delivered returned partially_completed on_hold""".split()
REASONS = """timeout insufficient_funds missing_document manual_review customer_request duplicate invalid_address card_expired out_of_stock
rate_limited quota_exceeded network_error permission_denied fraud_suspected awaiting_confirmation carrier_delay system_error""".split()

EVENT_TYPES = """invoice.paid invoice.payment_failed customer.created customer.updated charge.succeeded charge.refunded
subscription.created subscription.deleted checkout.session.completed payout.paid dispute.created""".split()
AUDIT_ACTIONS = "login logout password.change role.grant role.revoke record.read record.update record.delete export.start token.create".split()
SENSORS = (
    "temperature humidity pressure co2 light motion vibration voltage current flow level ph".split()
)

CLASSES = """Invoice Order Customer Payment Shipment Catalog Price Session Token Report Import Export Audit Stock Address Voucher Refund
Subscription Ledger Notification""".split()
CLASS_KINDS = "Service Controller Repository Handler Mapper Validator Factory Client Listener Scheduler".split()
METHODS = """create update delete find findAll load save validate process handle execute apply charge cancel notify convert parse render
refresh submit lambda$process$0 lambda$handle$1 doFilter invoke accept""".split()
PACKAGES = "com.acorn.billing com.acorn.checkout com.acorn.catalog org.meridian.travel.booking io.tundra.media.stream eu.vertex.retail.pricing".split()
FRAMEWORK_FRAMES = """org.springframework.web.servlet.FrameworkServlet.service(FrameworkServlet.java org.apache.catalina.core.ApplicationFilterChain.doFilter(ApplicationFilterChain.java
java.base/java.lang.reflect.Method.invoke(Method.java java.base/java.util.concurrent.ThreadPoolExecutor.runWorker(ThreadPoolExecutor.java
org.hibernate.internal.SessionImpl.find(SessionImpl.java io.netty.channel.AbstractChannelHandlerContext.invokeChannelRead(AbstractChannelHandlerContext.java""".split()

DIRECTORIES = """/srv/app/releases /var/lib/media /var/www/html/uploads /home/deploy/shared /mnt/archive/scans /data/exports /opt/reports
/backup/daily""".split()
FILE_STEMS = "avatar cover scan invoice receipt contract photo thumbnail banner report export statement manual label attachment".split()
FILE_ENDINGS = "jpg jpg png webp pdf pdf csv xlsx docx zip json mp4 txt".split()

# First three bytes of MAC addresses
VENDORS = """00:1a:2b 3c:5a:b4 f4:f5:d8 a4:77:33 00:0c:29 52:54:00 b8:27:eb dc:a6:32 e4:5f:01 ac:de:48 f0:18:98 3c:22:fb 88:66:5a
00:50:56 00:15:5d 08:00:27 94:65:9c 34:cf:f6 d8:bb:c1 c8:d3:ff 70:85:c2 a8:a1:59 2c:f0:5d 04:d9:f5 fc:34:97 00:11:32 90:09:d0 24:5e:be
74:83:c2 68:d7:9a""".split()

# First 32 bits of the IPv6 addresses of networks
NETWORKS = """2a02:8109 2003:00c1 2003:00e4 2a01:0c22 2a00:20c3 2a01:04f8 2a01:04f9 2001:08d8 2a02:0908 2a02:3030 2600:1700 2601:0646
2603:8000 2607:fb90 2605:59c8 2600:1f18 2600:387c 2804:014c 2804:0d45 2409:4042 2401:4900 2405:0201 240e:0384 2408:8214 2001:0e68
2001:4450 2a0d:3344 2a09:bac3 2606:4700 2620:0149""".split()
